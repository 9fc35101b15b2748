#pragma once

#include "runtimes/pytorch/transformers/modules/causal_lm.h"

namespace vramfit::pytorch {

/// apply_tensor_parallelism: what the plan names is cut over so many GPUs, of which this is the
/// first, and gets a forward of its own. The model is on the meta device, and gives its parts
/// memory as it is read. It has a plan, by which it can be cut (require_tp).
///
/// transformers/distributed/tensor_parallel.py, 5.17.
void apply_tensor_parallelism(CausalLm& model, const ModelConfig& config, std::int64_t gpus);

}  // namespace vramfit::pytorch
