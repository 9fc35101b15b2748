#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// nn.functional.cross_entropy of (rows, classes), the mean over rows. Runs in fp32 under autocast.
Tensor cross_entropy_loss(const Tensor& logits, const Tensor& target);

}  // namespace vramfit::pytorch
