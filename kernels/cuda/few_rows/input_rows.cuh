#pragma once

#include <cstdint>

#include "kernels/cuda/few_rows/weight_stages.cuh"
#include "model/config/model_config.h"

// The rows that a weight is multiplied with, as each block brings them into its shared memory:
// normalised and quantised where the op says so, in the order in which the weight's stages want
// them.

namespace vramfit::gpu {

template <typename T>
struct InputRows {
  const T* x;            ///< (rows, in)
  const T* norm_weight;  ///< null: x is as it should be
  const T* norm_bias;    ///< LayerNorm's, which has a mean
  float eps;
  int rows;  ///< kColumns at most
  int in;
  int slots;   ///< of 16 bytes, of a row in shared memory
  int stride;  ///< bytes from row to row there
  bool packed;
};

/// Sums or maxima of a row over the warps that share it, by way of a float a warp.
template <typename Combine>
__device__ float over_row(float value, int warps, float* shared, const Combine& combine) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
#pragma unroll
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    value = combine(value, __shfl_xor_sync(kWholeWarp, value, mask));
  }
  if (threadIdx.x % kWarp == 0) shared[warp] = value;
  __syncthreads();
  const int first = warp / warps * warps;
  value = shared[first];
  for (int other = 1; other < warps; ++other) value = combine(value, shared[first + other]);
  return value;
}

/// Elements of a row from `first` on, zeros beyond it.
template <int kCount, typename T>
__device__ Floats<kCount> elements(const T* row, int first, int in, bool packed) {
  if (packed && first + kCount <= in) return load_floats<T, kCount>(row + first);
  Floats<kCount> result;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    result[i] = first + i < in ? to_float(row[first + i]) : 0.0F;
  }
  return result;
}

/// 16 bytes of what is multiplied.
template <typename Stages, int kCount>
__device__ uint4 encoded(const Floats<kCount>& values) {
  using Input = typename Stages::Input;
  constexpr int kPerWord = 4 / static_cast<int>(sizeof(Input));
  std::uint32_t words[4];
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    if constexpr (sizeof(Input) == 1) {
      words[w] = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        words[w] |= std::uint32_t{eight_bits(values[4 * w + i], Input{})} << 8 * i;
      }
    } else {
      float ordered[kPerWord];
#pragma unroll
      for (int i = 0; i < kPerWord; ++i) ordered[i] = values[Stages::order(kPerWord * w + i)];
      words[w] = packed(ordered, Input{});
    }
  }
  return {words[0], words[1], words[2], words[3]};
}

/// Fills `to`, (rows, stride), and each row's scale where rows are quantised, to `Codes`; void:
/// they are not. Ends with a barrier, so that all threads may read both.
template <typename Stages, typename Codes, int kWarps, typename T>
__device__ void bring_rows(const InputRows<T>& r, std::uint8_t* to, float* scales) {
  using Input = typename Stages::Input;
  constexpr int kCount = 16 / static_cast<int>(sizeof(Input));
  constexpr int kPieces = Stages::kElements / (4 * kCount);
  __shared__ float shared[3][kWarps];

  int sharing = kWarps;
  while (sharing * r.rows > kWarps) sharing /= 2;
  const int row = static_cast<int>(threadIdx.x) / kWarp / sharing;
  const int threads = sharing * kWarp;
  const int member = static_cast<int>(threadIdx.x) % threads;
  const bool there = row < r.rows;
  const int slots = there ? r.slots : 0;
  const T* from = r.x + std::int64_t{there ? row : 0} * r.in;

  const auto first_of = [&](int slot) {
    const int piece = slot / 4;
    return piece / kPieces * Stages::kElements + Stages::source(piece % kPieces, slot % 4);
  };
  const auto for_each_slot = [&](const auto& body) {
#pragma unroll 2
    for (int slot = member; slot < slots; slot += threads) body(slot, first_of(slot));
  };
  const auto plus = [](float a, float b) { return a + b; };

  float mean = 0;
  float rstd = 1;
  if (r.norm_weight != nullptr) {
    const auto count = static_cast<float>(r.in);
    if (r.norm_bias != nullptr) {
      float sum = 0;
      for_each_slot([&](int, int first) {
        const Floats<kCount> x = elements<kCount>(from, first, r.in, r.packed);
#pragma unroll
        for (int i = 0; i < kCount; ++i) sum += x[i];
      });
      mean = over_row(sum, sharing, shared[0], plus) / count;
    }
    float squares = 0;
    for_each_slot([&](int, int first) {
      const Floats<kCount> x = elements<kCount>(from, first, r.in, r.packed);
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (first + i < r.in) squares += (x[i] - mean) * (x[i] - mean);
      }
    });
    rstd = 1.0F / sqrtf(over_row(squares, sharing, shared[1], plus) / count + r.eps);
  }
  const auto normalized = [&](int first) {
    Floats<kCount> x = elements<kCount>(from, first, r.in, r.packed);
    if (r.norm_weight == nullptr) return x;
    const Floats<kCount> weight = elements<kCount>(r.norm_weight, first, r.in, r.packed);
    Floats<kCount> bias{};
    if (r.norm_bias != nullptr) bias = elements<kCount>(r.norm_bias, first, r.in, r.packed);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      x[i] = to_float(from_float<T>((x[i] - mean) * rstd * weight[i] + bias[i]));
    }
    return x;
  };

  float scale = 1;
  if constexpr (!std::is_void_v<Codes>) {
    constexpr float kMost = std::is_same_v<Codes, std::int8_t> ? kLargestInt8 : kLargestFp8;
    float largest = 0;
    for_each_slot([&](int, int first) {
      const Floats<kCount> x = normalized(first);
#pragma unroll
      for (int i = 0; i < kCount; ++i) largest = fmaxf(largest, fabsf(x[i]));
    });
    const auto larger = [](float a, float b) { return fmaxf(a, b); };
    largest = over_row(largest, sharing, shared[2], larger);
    scale = fmaxf(__fdiv_rn(largest, kMost), kSmallestScale);
    if (there && member == 0) scales[row] = scale;
  }
  for_each_slot([&](int slot, int first) {
    Floats<kCount> x = normalized(first);
    if constexpr (!std::is_void_v<Codes>) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) x[i] = __fdiv_rn(x[i], scale);
    }
    if constexpr (std::is_same_v<Codes, __nv_fp8_e4m3>) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) x[i] = to_float(__nv_fp8_e4m3(x[i]));
    }
    *reinterpret_cast<uint4*>(to + row * r.stride + slot * 16) = encoded<Stages>(x);
  });
  __syncthreads();
}

}  // namespace vramfit::gpu
