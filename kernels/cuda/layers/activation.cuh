#pragma once

#include "kernels/cuda/base/approximate.cuh"

namespace vramfit::gpu {

/// 0 where exp(-x) overflows.
__device__ inline float sigmoid(float x) { return reciprocal(1.0F + exponential(-x)); }

/// An activation's value and slope at one point.
struct Curve {
  float value;
  float slope;
};

/// x · sigmoid(x).
__device__ inline Curve silu(float x) {
  const float s = sigmoid(x);
  return {x * s, s * (1.0F + x * (1.0F - s))};
}

/// GELU's tanh approximation (Hendrycks and Gimpel 2016): (1 + tanh u) / 2 is sigmoid(2u).
__device__ inline Curve gelu(float x) {
  constexpr float kTwoRoots = 1.5957691216057308F;  // 2 · sqrt(2/π)
  constexpr float kCubic = 0.044715F;
  const float s = sigmoid(kTwoRoots * (x + kCubic * x * x * x));
  const float inner_slope = kTwoRoots * (1.0F + 3.0F * kCubic * x * x);
  return {x * s, s + x * s * (1.0F - s) * inner_slope};
}

}  // namespace vramfit::gpu
