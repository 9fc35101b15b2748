#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

// Of (rows, classes); `reduced`: the mean or the sum over rows. They run in fp32 under autocast.

/// nn.functional.cross_entropy
Tensor cross_entropy_loss(const Tensor& logits, const Tensor& target, bool reduced = true);
/// nn.functional.nll_loss
Tensor nll_loss(const Tensor& x, const Tensor& target, bool reduced = true);

}  // namespace vramfit::pytorch
