#pragma once

#include <cuda_runtime_api.h>

#include "model/ops/linear_ops.h"

namespace vramfit {

/// launch_small_batch of 9 to kDirectRows rows and a quantised weight, on sm_90. Returns false, and
/// starts nothing, elsewhere and where rows are not aligned, or of fp8.
bool launch_many_rows(const LinearForward& op, cudaStream_t stream);
bool launch_many_rows(const MlpUpForward& op, cudaStream_t stream);

}  // namespace vramfit
