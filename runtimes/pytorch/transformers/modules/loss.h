#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// transformers/loss/loss_utils.py, ForCausalLMLoss: logits in fp32, labels shifted by one.
Tensor causal_lm_loss(const Tensor& logits, const Tensor& labels);

}  // namespace vramfit::pytorch
