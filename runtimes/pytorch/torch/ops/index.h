#pragma once

#include <span>

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// a[indices]: an undefined one takes a dimension as it is.
Tensor index(const Tensor& a, std::span<const Tensor> indices);
/// a[indices] = values, in place; whether it adds to what is there.
void index_put_(const Tensor& a, std::span<const Tensor> indices, const Tensor& values,
                bool accumulate);

// By a mask, which is taken to be true everywhere: what one takes lies in its values, and those
// nobody has here.
/// a[mask], of as many of a's first dimensions as the mask has.
Tensor index_where(const Tensor& a, const Tensor& mask);
/// a.masked_scatter(mask, source), of as many elements as the mask has.
Tensor masked_scatter(const Tensor& a, const Tensor& mask, const Tensor& source);

}  // namespace vramfit::pytorch
