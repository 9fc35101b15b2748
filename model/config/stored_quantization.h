#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace vramfit {

struct ModelConfig;

/// Of a config.json whose quantization_config is bitsandbytes', or says that there is none: takes
/// it out, and returns what it says by the names of flags: {"quant": "nf4", "quant-compute":
/// "bf16"}. Any other stays.
std::map<std::string, std::string> take_stored_quantization(nlohmann::json& config);

/// Throws BadInput unless the weights are run in the format that they are stored in, which is
/// `quant`'s, empty where none is asked for.
void require_stored_format(const ModelConfig& model, const std::string& quant);

}  // namespace vramfit
