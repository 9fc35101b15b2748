#pragma once

#include <cuda_runtime_api.h>

#include "model/ops/linear_ops.h"

namespace vramfit {

/// Linears of at most kFusedRows rows, whose weights are of any format: bound by reading the
/// weight, which goes from memory into registers and no further. What the contract has around the
/// product (norm and quantisation of the rows before, scales, bias, residual and activation after)
/// is done by the same kernel, so that decoding starts few of them.
void launch_small_batch(const LinearForward& op, cudaStream_t stream);
void launch_small_batch(const MlpUpForward& op, cudaStream_t stream);

}  // namespace vramfit
