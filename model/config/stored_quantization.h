#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace vramfit {

struct ModelConfig;

/// Of a config.json whose quantization_config is bitsandbytes', or says that there is none: takes
/// it out, and returns what it says by the names of flags: {"quant": "nf4", "quant-compute":
/// "bf16"}. Any other stays. Throws BadInput, from `source`, on what bitsandbytes has and flags
/// lack.
std::map<std::string, std::string> take_stored_quantization(nlohmann::json& config,
                                                            const std::string& source);

/// Throws BadInput unless the weights are run in the format that they are stored in: `quant`, empty
/// where none is asked for. `instead`: what would be right.
void require_stored_format(const ModelConfig& model, const std::string& quant,
                           const std::string& instead);

}  // namespace vramfit
