#pragma once

#include <optional>
#include <string>
#include <utility>

#include "model/config/model_config.h"
#include "model/gguf/file.h"

// Models as they lie on this machine: folders of checkpoints, config.json, Hugging Face's cache.
namespace vramfit::fit {

/// The model of a path or of a repository's name, as --model has them; nothing where `called` is
/// neither. Throws BadInput on a file that is no config.json, and where the cache lacks it.
std::optional<ModelConfig> model_on_disk(const std::string& called);

/// The model of a config.json, or of the folder it lies in. Throws BadInput.
ModelConfig config_on_disk(const std::string& path);

/// The header of a GGUF file, split or not. Throws BadInput.
gguf::File gguf_on_disk(const std::string& path);

/// The text of a run that was recorded (docs/record.md). Throws BadInput.
std::string tape_on_disk(const std::string& path);

/// What --model calls so, by name, and its config.json as it stands: a shipped one, a path's or the
/// cache's. Throws BadInput.
std::pair<std::string, std::string> config_text(const std::string& called);

}  // namespace vramfit::fit
