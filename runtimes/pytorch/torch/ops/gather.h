#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

// Ops whose index has the tensor's own dimensions, or is a row of one of them.
namespace vramfit::pytorch {

Tensor gather(const Tensor& a, int dim, const Tensor& index);
/// `source` undefined: a number.
Tensor scatter(const Tensor& a, int dim, const Tensor& index, const Tensor& source);
void scatter_(const Tensor& a, int dim, const Tensor& index, const Tensor& source);
void scatter_add_(const Tensor& a, int dim, const Tensor& index, const Tensor& source);
Tensor index_select(const Tensor& a, int dim, const Tensor& index);
Tensor index_add(const Tensor& a, int dim, const Tensor& index, const Tensor& source);
void index_add_(const Tensor& a, int dim, const Tensor& index, const Tensor& source);
void index_copy_(const Tensor& a, int dim, const Tensor& index, const Tensor& source);

}  // namespace vramfit::pytorch
