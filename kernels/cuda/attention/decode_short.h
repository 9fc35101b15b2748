#pragma once

#include <cuda_runtime_api.h>

#include "model/ops/attention_ops.h"

namespace vramfit {

/// Both ops as one kernel, where the cache is so short that starting kernels takes longer than
/// reading it. Returns false, and starts nothing, where it is not, or the kernel does not do it.
bool launch_together(const RotaryAppend& rotary, const AttentionDecode& op, cudaStream_t stream);

}  // namespace vramfit
