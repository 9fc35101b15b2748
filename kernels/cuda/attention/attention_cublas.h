#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/gemm/gemm.h"
#include "model/ops/attention_ops.h"

namespace vramfit {

/// The Cublas form: GEMMs batched over the key/value heads of a sequence, one of each group's query
/// heads at a time, and a masked softmax between. Where queries are grouped, dK and dV are rounded
/// once for each query head of the group.
void attend_by_gemms(const AttentionForward& op, GemmRunner& gemms, cudaStream_t stream);
void attend_by_gemms(const AttentionBackward& op, GemmRunner& gemms, cudaStream_t stream);

}  // namespace vramfit
