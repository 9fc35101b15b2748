#pragma once

#include <initializer_list>

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// Sizes that two operands broadcast to.
Dims broadcast(const Dims& a, const Dims& b);

/// What an elementwise op makes: broadcast sizes, in the memory order that its operands have.
/// aten/src/ATen/TensorIterator.cpp (reorder_dimensions, allocate_or_resize_outputs), PyTorch 2.11.
Tensor empty_for(std::initializer_list<const Tensor*> operands, ScalarType type);

/// at::empty_like: dense strides as they are, those of dimensions of 1 as well.
Tensor preserved(const Tensor& a, ScalarType type);

/// at::empty in the memory format that `alike` suggests: channels last where its strides look like
/// it, contiguous otherwise.
Tensor suggested(const Tensor& alike, const Dims& sizes, ScalarType type);
bool is_channels_last(const Tensor& a);

/// at::result_type: a tensor without dimensions counts for less than one that has some.
ScalarType result_type(const Tensor& a, const Tensor& b);

/// What an elementwise op makes of one tensor, and of two.
inline Tensor like(const Tensor& a) { return empty_for({&a}, a.type()); }
inline Tensor like(const Tensor& a, const Tensor& b) {
  return empty_for({&a, &b}, result_type(a, b));
}

}  // namespace vramfit::pytorch
