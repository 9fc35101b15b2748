#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/gemm/gemm.h"
#include "model/ops/code_ops.h"
#include "model/ops/linear_ops.h"

namespace vramfit {

/// LinearForward of a weight that is quantised, and of more rows than launch_small_batch has, which
/// may be.
void multiply_quantized(const LinearForward& op, GemmRunner& gemms, cudaStream_t stream);

void multiply_codes(const CodesProduct& op, GemmRunner& gemms);

/// LinearBackwardInput of a weight that is quantised.
void multiply_quantized(const LinearBackwardInput& op, GemmRunner& gemms, cudaStream_t stream);

/// Of int8 rows: tensor cores sum in int32, in registers, and what is written is scaled.
void launch_int8_linear(const LinearForward& op, cudaStream_t stream);

/// The two that it chooses from: on any GPU, and on those of sm_90, which take it, and no others.
void launch_int8_warps(const LinearForward& op, cudaStream_t stream);
void launch_int8_warpgroups(const LinearForward& op, cudaStream_t stream);

/// MlpUpForward of more int8 rows than launch_small_batch has as one kernel, of warpgroups. Returns
/// false, and starts nothing, where it has to be the product and then the activation.
bool launch_int8_mlp_up(const MlpUpForward& op, cudaStream_t stream);
bool launch_int8_warpgroups(const MlpUpForward& op, cudaStream_t stream);

/// A part of the weight, read into the start of `to`, (rows, columns).
struct Dequantize {
  const Tensor& weight;
  const Tensor* scales;
  std::int64_t first_row;
  std::int64_t rows;
  std::int64_t first_column;
  std::int64_t columns;
  Tensor& to;
};
void launch(const Dequantize& op, cudaStream_t stream);

}  // namespace vramfit
