#pragma once

#include <cstdint>
#include <vector>

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// Tensors of one type that are communicated together.
using Bucket = std::vector<Tensor>;

/// How buckets follow each other: by the first tensor in each, as where PyTorch is told no order of
/// tensors; or as they fill up, what is not full at the end.
enum class BucketOrder { FirstTensor, Filled };

/// Fills buckets in the order of `tensors`, each until it has reached its limit: the first of a
/// type to the first of `limits`, further ones to the next, and all others to the last.
///
/// compute_bucket_assignment_by_size of torch/csrc/distributed/c10d/reducer.cpp, PyTorch 2.11.
std::vector<Bucket> assign_buckets(const std::vector<Tensor>& tensors,
                                   const std::vector<std::uint64_t>& limits,
                                   BucketOrder order = BucketOrder::FirstTensor);

/// Of all its tensors.
std::int64_t numel(const Bucket& bucket);

}  // namespace vramfit::pytorch
