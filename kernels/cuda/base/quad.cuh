#pragma once

#include <cstdint>

#include "kernels/cuda/base/reduce.cuh"

// Four neighbouring lanes, to each of which tensor cores leave two neighbouring columns of every
// eight that they multiply.

namespace vramfit::gpu {

/// Of groups of 8 columns, as many as lanes: each lane has its pair of every group, or all of one.
inline constexpr int kQuadGroups = 4;

/// Which of the four a lane is.
__device__ inline int quad_lane() { return static_cast<int>(threadIdx.x % kQuadGroups); }

/// The first of the two columns that the lane has of a group.
__device__ inline int quad_column(int group) { return 8 * group + 2 * quad_lane(); }

/// Word i of lane j becomes word j of lane i: a lane that had its pair of every group, two elements
/// of 16 bits, has all 16 bytes of one group, and the other way round. All lanes of a warp call it.
__device__ inline void transpose_quad(std::uint32_t (&words)[kQuadGroups]) {
  const auto exchange = [](std::uint32_t& low, std::uint32_t& high, unsigned apart) {
    const bool upper = (threadIdx.x & apart) != 0;
    const std::uint32_t other = __shfl_xor_sync(kWholeWarp, upper ? low : high, apart);
    (upper ? low : high) = other;
  };
  exchange(words[0], words[1], 1);
  exchange(words[2], words[3], 1);
  exchange(words[0], words[2], 2);
  exchange(words[1], words[3], 2);
}

/// All of a group, before and after transpose_quad.
__device__ inline void load_group(std::uint32_t (&words)[kQuadGroups], const void* from) {
  const uint4 vector = *static_cast<const uint4*>(from);
  words[0] = vector.x, words[1] = vector.y, words[2] = vector.z, words[3] = vector.w;
}
__device__ inline void store_group(void* to, const std::uint32_t (&words)[kQuadGroups]) {
  *static_cast<uint4*>(to) = {words[0], words[1], words[2], words[3]};
}

}  // namespace vramfit::gpu
