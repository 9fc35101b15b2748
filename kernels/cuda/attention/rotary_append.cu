#include "kernels/cuda/attention/rotary_append.cuh"
#include "kernels/cuda/base/launch.h"

namespace vramfit {
namespace {

using namespace gpu;

constexpr int kThreads = 128;

/// One warp per head of q, k and v of each token.
template <typename T, typename Stored>
__global__ void __launch_bounds__(kThreads)
    rotary_append(const RotaryAppended<T> r, const __grid_constant__ Frequencies frequencies) {
  take_turn();
  const int warp = static_cast<int>(blockIdx.x * kThreads + threadIdx.x) / kWarp;
  if (warp < r.batch * r.all_heads())
    rotate_and_append<Stored>(r, r.starts, frequencies.inverse, warp);
}

}  // namespace

void launch(const RotaryAppend& op, cudaStream_t stream) {
  with_element(op.qkv.format(), [&](auto element) {
    using T = decltype(element);
    with_stored<T>(op.cache.keys.format(), [&](auto stored) {
      const RotaryAppended<T> arguments(op);
      const std::int64_t warps = std::int64_t{arguments.batch} * arguments.all_heads();
      start({"rotary_append", ceil_divide(warps * kWarp, kThreads), kThreads, stream, 0, true},
            rotary_append<T, decltype(stored)>, arguments, Frequencies(op.frequencies));
    });
  });
}

}  // namespace vramfit
