#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// nn.functional.embedding.
Tensor embedding(const Tensor& weight, const Tensor& indices);

}  // namespace vramfit::pytorch
