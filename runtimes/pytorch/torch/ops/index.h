#pragma once

#include <span>

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// a[indices]: an undefined one takes a dimension as it is.
Tensor index(const Tensor& a, std::span<const Tensor> indices);

}  // namespace vramfit::pytorch
