#pragma once

#include <cuda_runtime_api.h>

#include "model/ops/attention_ops.h"

namespace vramfit {

/// AttentionBackward for sequences of one token, which cuDNN refuses. Its only probability is 1
/// whatever q and k are: dq = dk = 0, and dv is the sum of dout over the group's query heads.
void launch_one_token_backward(const AttentionBackward& op, cudaStream_t stream);

}  // namespace vramfit
