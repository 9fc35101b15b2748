#pragma once

#include <string>
#include <vector>

#include "model/config/model_config.h"

namespace vramfit {

/// Two layers of each family, as small as possible with no two sizes equal.
ModelConfig tiny_llama();  ///< grouped queries 2:1, untied head
ModelConfig tiny_qwen2();  ///< grouped queries 4:1, qkv biases, tied head
ModelConfig tiny_qwen3();  ///< grouped queries 2:1, normed heads, untied head
ModelConfig tiny_gpt2();   ///< LayerNorm, learned positions, biases, tied head

/// Of sizes that every format goes with: multiples of 128.
ModelConfig small_llama();

std::vector<ModelConfig> tiny_models();
ModelConfig tiny_model(const std::string& name);

}  // namespace vramfit
