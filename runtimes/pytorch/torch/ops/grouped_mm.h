#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// torch._grouped_mm: rows of `a` (rows, in), those of a group one after another and ended by
/// `offsets`, by their group's matrix of `b` (groups, in, out).
Tensor grouped_mm(const Tensor& a, const Tensor& b, const Tensor& offsets);

}  // namespace vramfit::pytorch
