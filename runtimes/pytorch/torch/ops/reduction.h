#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// a.mean(-1, keepdim=True)
Tensor mean_last(const Tensor& a);
/// torch.mean and torch.sum over one dimension.
Tensor mean(const Tensor& a, int dim, bool keepdim);
Tensor sum(const Tensor& a, int dim, bool keepdim);
/// at::sum_to: the sum over what was broadcast.
Tensor sum_to(Tensor a, const Dims& sizes);
/// A norm, mean, or any() of a contiguous matrix along `dim`, keepdim=True, where no gradient is
/// wanted.
Tensor reduce_dim(const Tensor& a, int dim);
/// The same of all elements.
Tensor reduce_all(const Tensor& a);

}  // namespace vramfit::pytorch
