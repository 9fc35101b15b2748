#pragma once

#include <cuda_runtime_api.h>

#include "model/memory/tensor.h"

namespace vramfit::gpu {

/// to (+)= the sums of the `groups` rows of `partials`, rounded once. to: as many elements as a row
/// has columns.
void sum_partials(const float* partials, std::int64_t groups, const Tensor& to, bool accumulate,
                  cudaStream_t stream);

}  // namespace vramfit::gpu
