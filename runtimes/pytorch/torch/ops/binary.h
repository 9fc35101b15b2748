#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

// Elementwise ops of several tensors: tools/autograd/derivatives.yaml, PyTorch 2.11. Those in place
// keep a copy of what the tensor was, where a gradient needs it.
namespace vramfit::pytorch {

Tensor sub(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
/// maximum and minimum.
Tensor extremum(const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
/// Where one of them is a number, of that type.
Tensor where_else(const Tensor& condition, const Tensor& a, ScalarType number);
Tensor where_number(const Tensor& condition, ScalarType number, const Tensor& b);
/// Tensors to the power of tensors; undefined: a number.
Tensor power(const Tensor& base, const Tensor& exponent);

void add_(const Tensor& a, const Tensor& b);
void sub_(const Tensor& a, const Tensor& b);
void mul_(const Tensor& a, const Tensor& b);
void div_(const Tensor& a, const Tensor& b);
/// Tensor.copy_ and fill_; `from` undefined: a number.
void copy_(const Tensor& a, const Tensor& from);

}  // namespace vramfit::pytorch
