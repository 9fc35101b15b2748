#pragma once

#include <cuda_runtime_api.h>

#include "model/ops/arch.h"
#include "model/ops/linear_ops.h"

namespace vramfit {

/// Whether rows of 16 bits that are multiplied by a weight of 16 bits are better off here than in
/// a GEMM: all at once, beside a ring as deep as memory wants it, in Hopper's shared memory.
bool beats_gemm(const Tensor& x, Arch arch);

/// Linears of few rows, whose weights are of any format: bound by reading the weight, which goes
/// from memory into registers and no further. What the contract has around the product (norm and
/// quantisation of the rows before, scales, bias, residual and activation after) is done by the
/// same kernel, so that decoding starts few of them; 2 to 16 rows that are quantised are so by a
/// kernel before it (encode_rows.cuh), once for all blocks, and on Hopper 9 to 64 are arranged by
/// one as products read them, into the GEMM workspace.
void launch_small_batch(const LinearForward& op, cudaStream_t stream);
void launch_small_batch(const MlpUpForward& op, cudaStream_t stream);

}  // namespace vramfit
