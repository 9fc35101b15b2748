#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/base/eight_bits.cuh"

// Elements as kernels see them: stored as T, computed with as floats, moved in packs of 16 bytes
// where rows are whole packs and aligned, else one by one.

namespace vramfit::gpu {

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__half x) { return __half2float(x); }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }

/// To nearest, ties to even.
template <typename T>
__device__ T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__device__ inline __half from_float<__half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

/// N floats in registers.
template <int N>
struct Floats {
  float values[N];
  __device__ float& operator[](int i) { return values[i]; }
  __device__ float operator[](int i) const { return values[i]; }
};

/// The elements of four bytes, lowest address first.
__device__ inline void unpack(std::uint32_t word, float* to, float /*type*/) {
  to[0] = __uint_as_float(word);
}
__device__ inline void unpack(std::uint32_t word, float* to, __half /*type*/) {
  const float2 both = __half22float2(*reinterpret_cast<const __half2*>(&word));
  to[0] = both.x;
  to[1] = both.y;
}
__device__ inline void unpack(std::uint32_t word, float* to, __nv_bfloat16 /*type*/) {
  to[0] = __uint_as_float(word << 16);
  to[1] = __uint_as_float(word & 0xFFFF0000U);
}

__device__ inline std::uint32_t packed(const float* from, float /*type*/) {
  return __float_as_uint(from[0]);
}
__device__ inline std::uint32_t packed(const float* from, __half /*type*/) {
  const __half2 both = __floats2half2_rn(from[0], from[1]);
  return *reinterpret_cast<const std::uint32_t*>(&both);
}
__device__ inline std::uint32_t packed(const float* from, __nv_bfloat16 /*type*/) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(from[0], from[1]);
  return *reinterpret_cast<const std::uint32_t*>(&both);
}

/// N stored elements in registers, as they are in memory: vectors of 16 bytes, or one of 8.
template <typename T, int N>
struct Pack {
  static constexpr int kBytes = static_cast<int>(N * sizeof(T));
  static constexpr int kPerWord = static_cast<int>(4 / sizeof(T));
  using Vector = std::conditional_t<kBytes == 8, uint2, uint4>;
  static constexpr int kVectors = kBytes / static_cast<int>(sizeof(Vector));
  static_assert(kBytes == kVectors * static_cast<int>(sizeof(Vector)));

  Vector vectors[kVectors];

  Pack() = default;
  __device__ explicit Pack(const Floats<N>& floats) {
#pragma unroll
    for (int w = 0; w < kBytes / 4; ++w) word(w) = packed(floats.values + w * kPerWord, T{});
  }

  __device__ Floats<N> floats() const {
    Floats<N> result;
#pragma unroll
    for (int w = 0; w < kBytes / 4; ++w) unpack(word(w), result.values + w * kPerWord, T{});
    return result;
  }

  __device__ static Pack load(const T* from) {
    Pack pack;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) pack.vectors[v] = reinterpret_cast<const Vector*>(from)[v];
    return pack;
  }
  __device__ void store(T* to) const {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) reinterpret_cast<Vector*>(to)[v] = vectors[v];
  }

  /// For what is touched once in a step and would only drive other lines out of the caches.
  __device__ static Pack load_once(const T* from) {
    Pack pack;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      pack.vectors[v] = __ldcs(reinterpret_cast<const Vector*>(from) + v);
    }
    return pack;
  }
  __device__ void store_once(T* to) const {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) __stcs(reinterpret_cast<Vector*>(to) + v, vectors[v]);
  }

 private:
  __device__ std::uint32_t& word(int w) { return reinterpret_cast<std::uint32_t*>(vectors)[w]; }
  __device__ std::uint32_t word(int w) const {
    return reinterpret_cast<const std::uint32_t*>(vectors)[w];
  }
};

/// A single element, wherever it lies.
template <typename T>
struct Pack<T, 1> {
  T element;

  Pack() = default;
  __device__ explicit Pack(const Floats<1>& floats) : element(from_float<T>(floats[0])) {}
  __device__ Floats<1> floats() const { return {to_float(element)}; }
  __device__ static Pack load(const T* from) {
    Pack pack;
    pack.element = *from;
    return pack;
  }
  __device__ void store(T* to) const { *to = element; }
  __device__ static Pack load_once(const T* from) { return load(from); }
  __device__ void store_once(T* to) const { store(to); }
};

template <typename T, int N>
__device__ Floats<N> load_floats(const T* from) {
  return Pack<T, N>::load(from).floats();
}

/// Each rounded once.
template <typename T, int N>
__device__ void store_floats(T* to, const Floats<N>& floats) {
  Pack<T, N>(floats).store(to);
}

/// to = value, or to += value, rounded once.
template <typename T, int N>
__device__ void put(T* to, Floats<N> value, bool accumulate) {
  if (accumulate) {
    const Floats<N> before = load_floats<T, N>(to);
#pragma unroll
    for (int i = 0; i < N; ++i) value[i] += before[i];
  }
  store_floats<T, N>(to, value);
}

}  // namespace vramfit::gpu
