#pragma once

#include <cuda_fp8.h>

#include <cstdint>
#include <type_traits>

#include "model/format.h"

// Elements of 8 bits, as pack.cuh has the others. What they are scaled by stands beside them.

namespace vramfit::gpu {

/// The GPU's type of a format's codes of 8 bits.
template <DType>
struct GpuCode {
  using Type = void;
};
template <>
struct GpuCode<DType::Int8> {
  using Type = std::int8_t;
};
template <>
struct GpuCode<DType::Fp8> {
  using Type = __nv_fp8_e4m3;
};

/// What the largest of those that share a scale becomes.
template <typename Code>
inline constexpr float kLargest =
    Format(std::is_same_v<Code, std::int8_t> ? DType::Int8 : DType::Fp8).row().largest;

/// Calls `body` with a value of the type; returns false, and calls nothing, where there is none.
template <typename Body>
bool with_code(DType element, const Body& body) {
  bool runs = false;
  with_plain_element(element, [&](auto dtype) {
    using Code = typename GpuCode<decltype(dtype)::value>::Type;
    if constexpr (!std::is_void_v<Code>) {
      runs = true;
      body(Code{});
    }
  });
  return runs;
}

__device__ inline float to_float(std::int8_t x) { return static_cast<float>(x); }
__device__ inline float to_float(__nv_fp8_e4m3 x) { return static_cast<float>(x); }

/// To nearest, ties to even; fp8 beyond its largest to it.
__device__ inline std::uint8_t eight_bits(float x, std::int8_t /*type*/) {
  return static_cast<std::uint8_t>(static_cast<std::int8_t>(rintf(x)));
}
__device__ inline std::uint8_t eight_bits(float x, __nv_fp8_e4m3 /*type*/) {
  return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
}

/// Four of them, the first in the lowest byte; int8 has no NaN, and may have anything for it.
__device__ inline std::uint32_t four_codes(const float* x, std::int8_t /*type*/) {
  // Beyond 2^23 floats are whole numbers, and their lowest bits those of two's complement.
  constexpr float kWhole = 12582912.0F;  // 1.5 · 2^23
  const auto bits = [x](int i) { return __float_as_uint(x[i] + kWhole); };
  return __byte_perm(__byte_perm(bits(0), bits(1), 0x0040), __byte_perm(bits(2), bits(3), 0x0040),
                     0x5410);
}
__device__ inline std::uint32_t four_codes(const float* x, __nv_fp8_e4m3 /*type*/) {
  const auto two = [x](int i) {
    return static_cast<std::uint32_t>(
        __nv_cvt_float2_to_fp8x2({x[i], x[i + 1]}, __NV_SATFINITE, __NV_E4M3));
  };
  return two(0) | two(2) << 16;
}
template <typename Code>
__device__ uint2 eight_codes(const float* x, Code type) {
  return {four_codes(x, type), four_codes(x + 4, type)};
}

/// Both as the codes have them.
__device__ inline float2 rounded(float2 x, __nv_fp8_e4m3 /*type*/) {
  const auto two = __nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, __NV_E4M3);
  return __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(two, __NV_E4M3)));
}

/// The elements of four bytes, lowest address first.
__device__ inline void unpack(std::uint32_t word, float* to, std::int8_t /*type*/) {
#pragma unroll
  for (int i = 0; i < 4; ++i) to[i] = static_cast<float>(static_cast<std::int8_t>(word >> 8 * i));
}
__device__ inline void unpack(std::uint32_t word, float* to, __nv_fp8_e4m3 /*type*/) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const auto two = static_cast<__nv_fp8x2_storage_t>(word >> 16 * half);
    const float2 both = __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(two, __NV_E4M3)));
    to[2 * half] = both.x;
    to[2 * half + 1] = both.y;
  }
}

}  // namespace vramfit::gpu
