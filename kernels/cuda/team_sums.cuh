#pragma once

#include "kernels/cuda/kernel.cuh"
#include "kernels/cuda/reduce.cuh"

namespace vramfit::gpu {

/// Sums over teams, the rows of a two-dimensional block of whole warps (threadIdx.y), for each of a
/// team's threads. In shared memory. One barrier a call, and none in a team of one warp: two
/// buffers in turn, and no thread comes to the next but one before all have left this one.
template <int kTeams, int kTeamWarps>
struct TeamSums {
  static_assert(kTeams < 16, "a team has a named barrier of its own");

  float2 buffers[2][kTeams][kTeamWarps];

  /// Of both, or of `a` alone. `turn` counts the calls.
  template <bool kBoth>
  __device__ float2 sum(float a, float b, int turn) {
    const int warps = static_cast<int>(blockDim.x) / kWarp;
    a = warp_sum(a);
    if constexpr (kBoth) b = warp_sum(b);
    if (warps == 1) return {a, b};
    float2* buffer = buffers[turn % 2][threadIdx.y];
    if (threadIdx.x % kWarp == 0) buffer[threadIdx.x / kWarp] = {a, b};
    named_barrier(static_cast<int>(threadIdx.y) + 1, static_cast<int>(blockDim.x));
    float2 total = {0, 0};
    for (int warp = 0; warp < warps; ++warp) {
      total.x += buffer[warp].x;
      total.y += buffer[warp].y;
    }
    return total;
  }
};

}  // namespace vramfit::gpu
