#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

// Ops by a mask that is true everywhere: how much they take lies in its values.
namespace vramfit::pytorch {

/// a[mask], of as many of a's first dimensions as the mask has.
Tensor index_where(const Tensor& a, const Tensor& mask);
/// a.masked_scatter(mask, source)
Tensor masked_scatter(const Tensor& a, const Tensor& mask, const Tensor& source);

}  // namespace vramfit::pytorch
