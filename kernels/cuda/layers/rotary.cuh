#pragma once

#include <algorithm>

#include "kernels/cuda/base/dispatch.cuh"
#include "model/config/rope.h"
#include "model/ops/workspaces.h"

namespace vramfit::gpu {

inline constexpr int kMostPairs = static_cast<int>(kMaxHeadDim) / 2;

/// Of a head's pairs, as a kernel is given them.
struct Frequencies {
  float inverse[kMostPairs];

  explicit Frequencies(const RopeFrequencies& from) : inverse{} {
    expect(from.pairs <= kMostPairs, "rotary: heads are kMaxHeadDim wide at most");
    std::copy_n(from.inverse.begin(), from.pairs, inverse);
  }
};

/// The angle is rounded to fp32, as the host's is; then it is reduced in fp64, which spares the
/// slow path that sincosf takes for the large angles of long sequences.
__device__ inline float2 cosine_and_sine(std::int64_t position, float frequency) {
  constexpr double kHalfTurns = 0.31830988618379067;  // 1/π
  const double turns = double{__fmul_rn(static_cast<float>(position), frequency)} * kHalfTurns;
  float2 result;
  sincospif(static_cast<float>(turns - 2.0 * rint(turns * 0.5)), &result.y, &result.x);
  return result;
}

}  // namespace vramfit::gpu
