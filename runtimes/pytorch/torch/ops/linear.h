#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// nn.functional.linear: x W^T + b of (..., in) and (out, in). Casts under autocast.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);

/// torch.mm(a, b) of matrices.
Tensor mm(const Tensor& a, const Tensor& b);

/// torch.addmm(bias, a, b) of matrices. Casts under autocast.
Tensor addmm(const Tensor& bias, const Tensor& a, const Tensor& b);

/// torch.bmm of stacks of as many matrices.
Tensor bmm(const Tensor& a, const Tensor& b);

/// torch.matmul of matrices, vectors and stacks of them, batch dimensions broadcast, and
/// torch.baddbmm, which may multiply the product by a number. Both cast under autocast.
Tensor matmul(const Tensor& a, const Tensor& b);
Tensor baddbmm(const Tensor& c, const Tensor& a, const Tensor& b, bool scaled);

}  // namespace vramfit::pytorch
