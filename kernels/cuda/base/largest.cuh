#pragma once

#include "kernels/cuda/base/pack.cuh"
#include "kernels/cuda/base/reduce.cuh"
#include "model/ops/code_ops.h"

namespace vramfit::gpu {

/// FindLargest of what a block's threads store as T, by all of them: `largest` becomes that of
/// their values' magnitudes, once rounded, where it is larger. `shared` as block_max has it.
template <typename T>
__device__ void join_largest(float magnitude, float* shared, float* largest) {
  magnitude = to_float(from_float<T>(block_max(magnitude, shared)));
  // Most are smaller than what is there, and need no atomic; magnitudes are in their bits' order.
  if (threadIdx.x == 0 && magnitude > *const_cast<const volatile float*>(largest)) {
    atomicMax(reinterpret_cast<int*>(largest), __float_as_int(magnitude));
  }
}

template <int N>
__device__ float largest_of(const Floats<N>& values) {
  float largest = 0;
#pragma unroll
  for (int i = 0; i < N; ++i) largest = fmaxf(largest, fabsf(values[i]));
  return largest;
}

/// Where an op finds it, or null.
inline float* largest_or_null(const Tensor* scale) {
  return scale == nullptr ? nullptr : scale->as<float>() + CodeScale::kLargest;
}

}  // namespace vramfit::gpu
