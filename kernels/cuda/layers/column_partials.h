#pragma once

#include <cuda_runtime_api.h>

#include "model/memory/tensor.h"

namespace vramfit::gpu {

/// Where column sums go.
struct ColumnTarget {
  const Tensor* to;  ///< (width)
  bool accumulate;   ///< to += rather than =
};

/// Adds up partial sums, always in the same order: those of `first`, (groups, width), and right
/// after them those of `second` unless its tensor is null, in one launch.
void sum_partials(const float* partials, std::int64_t groups, const ColumnTarget& first,
                  const ColumnTarget& second, cudaStream_t stream);

}  // namespace vramfit::gpu
