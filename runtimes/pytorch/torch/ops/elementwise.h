#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

// Elementwise ops with what each saves for backward: tools/autograd/derivatives.yaml, PyTorch 2.11.
// Ops by a scalar are named after what they save, since only that shows in memory.
namespace vramfit::pytorch {

/// at::promote_types.
ScalarType promote(ScalarType a, ScalarType b);

Tensor add(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
void scale_(const Tensor& a);  ///< a *= a number
/// Where the mask is true, a number.
Tensor masked_fill(const Tensor& a, const Tensor& mask);
void masked_fill_(const Tensor& a, const Tensor& mask);
Tensor add_scalar(const Tensor& a);  ///< saves nothing
Tensor mul_scalar(const Tensor& a);  ///< saves nothing but the scalar
Tensor neg(const Tensor& a);
Tensor pow(const Tensor& a);    ///< by a scalar other than 0 and 1: saves its input
Tensor rsqrt(const Tensor& a);  ///< saves its result
Tensor tanh(const Tensor& a);   ///< saves its result
Tensor silu(const Tensor& a);   ///< saves its input
Tensor gelu(const Tensor& a);   ///< saves its input, in either approximation
/// native_dropout: saves a mask of one byte an element. Leaves the tensor where p is 0 or outside
/// of training.
Tensor dropout(const Tensor& a, double p, bool training);

/// Tensor.to(dtype): itself where it has that type already.
Tensor to(const Tensor& a, ScalarType type);

/// cos, sin, comparison and the like, where no gradient is wanted.
Tensor pointwise_no_grad(const Tensor& a, ScalarType type);

}  // namespace vramfit::pytorch
