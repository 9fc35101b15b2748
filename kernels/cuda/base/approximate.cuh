#pragma once

// The special function unit's own instructions, for kernels that would otherwise wait for
// arithmetic rather than for memory. Results below 2^-126 become 0.

namespace vramfit::gpu {

inline constexpr float kLog2E = 1.4426950408889634F;

/// 2^x to 2 ulp.
__device__ inline float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// e^x: the product is rounded before, which makes a relative error of about |x| · 6e-8.
__device__ inline float exponential(float x) { return power_of_two(x * kLog2E); }

/// 1/x to 1 ulp.
__device__ inline float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// To 1 ulp.
__device__ inline float square_root(float x) {
  float y;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace vramfit::gpu
