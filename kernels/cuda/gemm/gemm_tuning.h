#pragma once

#include <cuda_runtime_api.h>

#include <functional>

namespace vramfit {

/// The fastest of `count` ways to do the same, by timing each on the stream; `attempt` starts one
/// and says whether it could. Returns -1 where none could. Waits for the stream.
int fastest(int count, const std::function<bool(int)>& attempt, cudaStream_t stream);

}  // namespace vramfit
