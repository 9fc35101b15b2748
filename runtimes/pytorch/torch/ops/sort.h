#pragma once

#include <vector>

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// Values and their places.
std::vector<Tensor> topk(const Tensor& a, std::int64_t k, int dim, bool sorted);
std::vector<Tensor> sort(const Tensor& a, int dim);

}  // namespace vramfit::pytorch
