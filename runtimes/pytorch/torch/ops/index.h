#pragma once

#include <span>

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// a[indices]: an undefined one takes a dimension as it is.
Tensor index(const Tensor& a, std::span<const Tensor> indices);
/// a[indices] = values, in place; whether it adds to what is there.
void index_put_(const Tensor& a, std::span<const Tensor> indices, const Tensor& values,
                bool accumulate);

}  // namespace vramfit::pytorch
