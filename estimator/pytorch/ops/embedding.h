#pragma once

#include "estimator/pytorch/tensor.h"

namespace vramfit::pytorch {

/// nn.functional.embedding.
Tensor embedding(const Tensor& weight, const Tensor& indices);

}  // namespace vramfit::pytorch
