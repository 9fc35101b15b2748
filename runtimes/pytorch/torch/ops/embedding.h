#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// nn.functional.embedding.
Tensor embedding(const Tensor& weight, const Tensor& indices);

/// The gradient of a weight of that size, of which so many rows were looked up.
Tensor embedding_dense_backward(const Tensor& grad, const Dims& weight, std::int64_t count);

}  // namespace vramfit::pytorch
