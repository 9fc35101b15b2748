#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace vramfit {

/// Makes of a multimodal model's config that of its text model, as a config.json of its own would
/// have it; leaves any other as it is. Returns what is to be said of it, a line each. `source`
/// names the file in messages. Throws BadInput on a text model that no family here reads.
std::vector<std::string> take_text_part(nlohmann::json& object, const std::string& source);

}  // namespace vramfit
