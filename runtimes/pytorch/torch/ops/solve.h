#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// torch.linalg.solve_triangular of stacks of matrices, a x = b or x a = b.
Tensor solve_triangular(const Tensor& a, const Tensor& b, bool left);

}  // namespace vramfit::pytorch
