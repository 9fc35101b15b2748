#pragma once

#include <filesystem>
#include <optional>
#include <string>

// What Hugging Face's programs have fetched to this machine, read as huggingface_hub lays it out:
// https://huggingface.co/docs/huggingface_hub/guides/manage-cache
namespace vramfit::fit {

/// Whether `text` is spelt as a repository of the hub: "meta-llama/Llama-3.1-8B".
bool is_hub_id(const std::string& text);

/// HF_HUB_CACHE, or hub/ in HF_HOME, or in the user's cache.
std::filesystem::path hub_cache();

/// The config.json of a repository's main revision there, or of another one where that is not
/// there; nothing where none is. `id` is spelt as one.
std::optional<std::filesystem::path> cached_config(const std::string& id);

}  // namespace vramfit::fit
