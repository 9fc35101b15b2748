#pragma once

#include <memory>

#include "runtimes/pytorch/transformers/modules/causal_lm.h"

namespace vramfit::pytorch {

/// The model of a config: by its family's code as it is written down here, else by its tape.
std::unique_ptr<CausalLm> make_model(Context& context, const ModelConfig& config,
                                     const ModelSettings& settings);

}  // namespace vramfit::pytorch
