#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace vramfit {

/// Makes of a multimodal model's config that of its text model, as a config.json of its own would
/// have it; leaves any other as it is. Returns what is to be said of it, a line each. `source`
/// names the file in messages. Throws BadInput on a text model that no family here reads.
std::vector<std::string> take_text_part(nlohmann::json& object, const std::string& source);

/// Of a multimodal model's config that of its text model, which names its type, as a config.json of
/// its own would have it; null of any other.
nlohmann::json text_part_of(const nlohmann::json& object);
/// What is to be said of an answer that is of it.
std::string text_part_note(const nlohmann::json& object);

}  // namespace vramfit
