#pragma once

#include <cuda_runtime_api.h>

#include "model/ops/attention_ops.h"

// What AttentionDecode is made of beside attention to a long cache.

namespace vramfit {

/// Rotates q and k in place and stores k and v in the cache.
void launch_append(const AttentionDecode& op, cudaStream_t stream);

/// All of the op as one kernel, where the cache is so short that starting kernels takes longer than
/// reading it. Returns false, and starts nothing, where it is not, or the kernel does not do it.
bool launch_decode_short(const AttentionDecode& op, cudaStream_t stream);

}  // namespace vramfit
