#pragma once

#include <optional>
#include <vector>

#include "runtimes/pytorch/torch/ops/reduce_kernel.h"
#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// a.mean(-1, keepdim=True)
Tensor mean_last(const Tensor& a);
/// torch.mean and torch.sum over some dimensions, in another type where one is named.
Tensor mean(const Tensor& a, DimMask dims, bool keepdim, std::optional<ScalarType> type = {});
Tensor sum(const Tensor& a, DimMask dims, bool keepdim, std::optional<ScalarType> type = {});
/// torch.std over some dimensions.
Tensor standard_deviation(const Tensor& a, DimMask dims, bool keepdim);
/// at::sum_to: the sum over what was broadcast.
Tensor sum_to(Tensor a, const Dims& sizes);
/// any and all.
Tensor any(const Tensor& a, DimMask dims, bool keepdim);
/// torch.isin of so many tests, few enough to be compared with one by one.
Tensor isin(const Tensor& elements, std::int64_t tests);
/// max and min over one dimension: values and where they are.
std::vector<Tensor> extremes(const Tensor& a, int dim, bool keepdim);
/// max and min of all elements, of what nobody wants a gradient of.
Tensor extreme(const Tensor& a);
/// argmax over one dimension, and over all.
Tensor argmax(const Tensor& a, int dim, bool keepdim);
Tensor argmax(const Tensor& a);
Tensor logsumexp(const Tensor& a, DimMask dims, bool keepdim);
/// torch.linalg.vector_norm of what nobody wants a gradient of.
Tensor vector_norm(const Tensor& a, DimMask dims, bool keepdim, std::optional<ScalarType> type);

/// A norm, mean, or any() of contiguous matrices along `dim`, -1 or -2, keepdim=True, where no
/// gradient is wanted.
Tensor reduce_dim(const Tensor& a, int dim);
/// The same of all elements.
Tensor reduce_all(const Tensor& a);

/// value_selecting_reduction_backward: zeros, then the gradient in its places.
Tensor in_places(const Tensor& grad, const Dims& sizes);

}  // namespace vramfit::pytorch
