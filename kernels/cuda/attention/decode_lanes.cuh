#pragma once

#include "kernels/cuda/base/approximate.cuh"
#include "kernels/cuda/base/pack.cuh"
#include "kernels/cuda/base/reduce.cuh"

// A lane's share while a warp decodes: a part of each vector, and of each head's output.

namespace vramfit::gpu {

/// One query head's softmax so far, and a lane's part of its output.
template <int kSize>
struct HeadState {
  float largest = kLowest;
  float sum = 0;
  Floats<kSize> out{};

  __device__ void rescale(float largest_now) {
    const float factor = power_of_two(largest - largest_now);
    largest = largest_now;
    sum *= factor;
#pragma unroll
    for (int i = 0; i < kSize; ++i) out[i] *= factor;
  }

  /// Merges the state of the lane whose number differs by `mask`.
  __device__ void merge_lane(int mask) {
    rescale(fmaxf(largest, __shfl_xor_sync(kWholeWarp, largest, mask)));
    sum += __shfl_xor_sync(kWholeWarp, sum, mask);
#pragma unroll
    for (int i = 0; i < kSize; ++i) out[i] += __shfl_xor_sync(kWholeWarp, out[i], mask);
  }
};

/// What a lane holds of a vector: kPacks packs, vector_lanes packs apart.
template <typename T, int N, int kPacks>
struct Part {
  Pack<T, N> packs[kPacks];

  __device__ void load(const T* vector, int lane, int lanes, int head_dim) {
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      const int at = (lane + k * lanes) * N;
      packs[k] = at < head_dim ? Pack<T, N>::load(vector + at) : Pack<T, N>{};
    }
  }
  __device__ Floats<N * kPacks> floats() const {
    Floats<N * kPacks> all;
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      const Floats<N> some = packs[k].floats();
#pragma unroll
      for (int i = 0; i < N; ++i) all[k * N + i] = some[i];
    }
    return all;
  }
};

/// Over each group of `lanes` neighbouring lanes, a power of two.
__device__ inline float sum_over_lanes(float value, int lanes) {
#pragma unroll
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    if (mask < lanes) value += __shfl_xor_sync(kWholeWarp, value, mask);
  }
  return value;
}

}  // namespace vramfit::gpu
