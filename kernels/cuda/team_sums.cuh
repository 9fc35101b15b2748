#pragma once

#include "kernels/cuda/kernel.cuh"
#include "kernels/cuda/reduce.cuh"

namespace vramfit::gpu {

/// Sums over teams, the rows of a two-dimensional block of whole warps (threadIdx.y), for each of a
/// team's threads. In shared memory. One barrier a call, and none in a team of one warp: two
/// buffers in turn, and no thread comes to the next but one before all have left this one.
template <int kTeams, int kTeamWarps>
struct TeamSums {
  static constexpr int kAtOnce = 4;
  static_assert(kTeams < 16, "a team has a named barrier of its own");
  static_assert(kTeamWarps % kAtOnce == 0);

  alignas(16) float2 buffers[2][kTeams][kTeamWarps];

  /// All threads of the block, once: warps that a team lacks for kAtOnce count 0.
  __device__ void clear() {
    auto* values = &buffers[0][0][0];
    const int threads = static_cast<int>(blockDim.x * blockDim.y);
    for (int i = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
         i < 2 * kTeams * kTeamWarps; i += threads) {
      values[i] = {0, 0};
    }
    __syncthreads();
  }

  /// Of both, or of `a` alone. `turn` is 0 and 1 by turns.
  template <bool kBoth>
  __device__ float2 sum(float a, float b, int turn) {
    const int warps = static_cast<int>(blockDim.x) / kWarp;
    a = warp_sum(a);
    if constexpr (kBoth) b = warp_sum(b);
    if (warps == 1) return {a, b};
    float2* buffer = buffers[turn][threadIdx.y];
    if (threadIdx.x % kWarp == 0) buffer[threadIdx.x / kWarp] = {a, b};
    named_barrier(static_cast<int>(threadIdx.y) + 1, static_cast<int>(blockDim.x));
    float2 total = {0, 0};
    const auto* pairs = reinterpret_cast<const float4*>(buffer);
#pragma unroll 1  // seldom more than four times: unrolled, it is mostly remainders
    for (int warp = 0; warp < warps; warp += kAtOnce, pairs += kAtOnce / 2) {
      const float4 first = pairs[0];
      const float4 second = pairs[1];
      total.x += (first.x + first.z) + (second.x + second.z);
      if constexpr (kBoth) total.y += (first.y + first.w) + (second.y + second.w);
    }
    return total;
  }
};

}  // namespace vramfit::gpu
