#pragma once

#include <vector>

#include "runtimes/pytorch/torch/tensor/tensor.h"

// Ops that order, and cub's workspaces.
namespace vramfit::pytorch {

/// Values and their places.
std::vector<Tensor> topk(const Tensor& a, std::int64_t k, int dim);
std::vector<Tensor> sort(const Tensor& a, int dim);

/// cub::DeviceRadixSort::SortPairs of so many pairs of long.
void sort_workspace(Context& context, std::int64_t count);

}  // namespace vramfit::pytorch
