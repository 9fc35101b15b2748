#pragma once

#include <cuda_runtime_api.h>

#include "model/ops/linear_ops.h"

namespace vramfit {

/// launch_small_batch of 9 to kDirectRows rows and a quantised weight, on sm_90. Returns false, and
/// starts nothing, elsewhere, where the weight is of fp8 or its rows are odd in number, where rows
/// are not aligned, in fp32, and where more than 16,384 codes of a row would be made.
bool launch_many_rows(const LinearForward& op, cudaStream_t stream);
bool launch_many_rows(const MlpUpForward& op, cudaStream_t stream);

}  // namespace vramfit
