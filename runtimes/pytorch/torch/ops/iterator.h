#pragma once

#include <initializer_list>

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// Sizes that two operands broadcast to.
Dims broadcast(const Dims& a, const Dims& b);

/// What an elementwise op makes: broadcast sizes, in the memory order that its operands have.
/// aten/src/ATen/TensorIterator.cpp (reorder_dimensions, allocate_or_resize_outputs), PyTorch 2.11.
Tensor empty_for(std::initializer_list<const Tensor*> operands, ScalarType type);

}  // namespace vramfit::pytorch
