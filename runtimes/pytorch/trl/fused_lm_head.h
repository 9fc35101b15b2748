#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// The loss by TRL's fused head: logits are made a tile at a time, and once more in backward, and
/// kept nowhere. `hidden`: (batch, tokens, hidden), behind the last norm; `weight`: (vocabulary,
/// hidden). Every token has a label.
///
/// Follows TRL 1.16: trainer/utils.py (add_fused_lm_head, as SFTTrainer adds it) and
/// kernels/chunked_logprob.py (ChunkedLogProbFunction).
Tensor fused_lm_loss(const Tensor& hidden, const Tensor& weight, const Tensor& ids);

}  // namespace vramfit::pytorch
