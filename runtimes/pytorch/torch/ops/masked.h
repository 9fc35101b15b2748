#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

// Ops by a mask, which is taken to be true everywhere: what one takes lies in its values, and those
// nobody has here.
namespace vramfit::pytorch {

/// a[mask], of as many of a's first dimensions as the mask has.
Tensor index_where(const Tensor& a, const Tensor& mask);
/// a.masked_scatter(mask, source), of as many elements as the mask has.
Tensor masked_scatter(const Tensor& a, const Tensor& mask, const Tensor& source);

}  // namespace vramfit::pytorch
