#pragma once

#include <cuda_runtime.h>

// Sums and maxima over warps and blocks. Every thread gets the result, and its bits depend on
// nothing but the values and the block's size.

namespace vramfit::gpu {

inline constexpr int kWarp = 32;
inline constexpr int kMaxWarps = 32;
inline constexpr unsigned kWholeWarp = 0xFFFFFFFFU;

/// Below every score, but unlike -infinity it can be subtracted from itself.
inline constexpr float kLowest = -3.402823466e+38F;

/// Reduces over each group of kLanes neighbouring lanes.
template <int kLanes = kWarp>
__device__ float warp_sum(float value) {
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2) {
    value += __shfl_xor_sync(kWholeWarp, value, mask);
  }
  return value;
}

template <int kLanes = kWarp>
__device__ float warp_max(float value) {
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kWholeWarp, value, mask));
  }
  return value;
}

/// Reduces over a one-dimensional block of whole warps. `shared`: kMaxWarps floats that no other
/// reduction of the same kernel uses without a barrier between.
__device__ inline float block_sum(float value, float* shared) {
  value = warp_sum(value);
  const unsigned lane = threadIdx.x % kWarp;
  if (lane == 0) shared[threadIdx.x / kWarp] = value;
  __syncthreads();
  return warp_sum(lane < blockDim.x / kWarp ? shared[lane] : 0.0F);
}

__device__ inline float block_max(float value, float* shared) {
  value = warp_max(value);
  const unsigned lane = threadIdx.x % kWarp;
  if (lane == 0) shared[threadIdx.x / kWarp] = value;
  __syncthreads();
  return warp_max(lane < blockDim.x / kWarp ? shared[lane] : kLowest);
}

/// The same of whole numbers, or of the bits of floats that are not negative, among which a NaN is
/// the largest. Compute capability 8.0 and later.
__device__ inline unsigned block_max(unsigned value, unsigned* shared) {
  value = __reduce_max_sync(kWholeWarp, value);
  const unsigned lane = threadIdx.x % kWarp;
  if (lane == 0) shared[threadIdx.x / kWarp] = value;
  __syncthreads();
  return __reduce_max_sync(kWholeWarp, lane < blockDim.x / kWarp ? shared[lane] : 0);
}

}  // namespace vramfit::gpu
