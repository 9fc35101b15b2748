#pragma once

#include <cstdint>

#include "kernels/cuda/small_batch/weight_stages.cuh"
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

/// Brings a norm's weights near, which nothing before this kernel writes.
template <typename T>
__device__ void prefetch_norm(const InputRows<T>& r) {
  const int step = static_cast<int>(blockDim.x) * 128;
  const int bytes = r.in * static_cast<int>(sizeof(T));
  for (const T* weights : {r.norm_weight, r.norm_bias}) {
    if (weights == nullptr) continue;
    for (int at = static_cast<int>(threadIdx.x) * 128; at < bytes; at += step) {
      prefetch(reinterpret_cast<const std::uint8_t*>(weights) + at);
    }
  }
}

/// A block's rows: warps share a row where there are fewer rows than warps.
template <typename Stages, typename T>
class RowBringer {
 public:
  using Input = typename Stages::Input;
  static constexpr int kCount = 16 / static_cast<int>(sizeof(Input));

  __device__ RowBringer(const InputRows<T>& r, std::uint8_t* to) : r_(r) {
    int sharing = Stages::kWarps;
    while (sharing * r.rows > Stages::kWarps) sharing /= 2;
    warps_ = sharing;
    row_ = static_cast<int>(threadIdx.x) / kWarp / sharing;
    from_ = r.x + std::int64_t{there() ? row_ : 0} * r.in;
    to_ = to + row_ * r.stride;
  }

  __device__ bool there() const { return row_ < r_.rows; }
  __device__ int row() const { return row_; }
  __device__ int warps() const { return warps_; }
  __device__ bool is_first() const { return static_cast<int>(threadIdx.x) % (warps_ * kWarp) == 0; }

  /// Calls `body` with the thread's slots of its row, and the first element of each.
  template <typename Body>
  __device__ void each_slot(const Body& body) const {
    constexpr int kPieces = Stages::kElements / (4 * kCount);
    const int threads = warps_ * kWarp;
    const int slots = there() ? r_.slots : 0;
#pragma unroll 4
    for (int slot = static_cast<int>(threadIdx.x) % threads; slot < slots; slot += threads) {
      const int piece = slot / 4;
      body(slot, piece / kPieces * Stages::kElements + Stages::source(piece % kPieces, slot % 4));
    }
  }

  /// x as it is, to be read again from shared memory where a slot has as many bytes of it.
  __device__ void copy() const {
    if constexpr (kKeeps) {
      each_slot([&](int slot, int first) {
        store_floats<T, kCount>(reinterpret_cast<T*>(to_ + slot * 16),
                                elements<kCount>(from_, first, r_.in, r_.packed));
      });
    }
  }
  __device__ Floats<kCount> x(int slot, int first) const {
    if constexpr (kKeeps)
      return load_floats<T, kCount>(reinterpret_cast<const T*>(to_ + slot * 16));
    return elements<kCount>(from_, first, r_.in, r_.packed);
  }

  __device__ void normalise_as(float mean, float rstd) {
    mean_ = mean;
    rstd_ = rstd;
  }
  /// As NormForward rounds it; x where there is no norm.
  __device__ Floats<kCount> normalized(int slot, int first) const {
    Floats<kCount> y = x(slot, first);
    if (r_.norm_weight == nullptr) return y;
    const Floats<kCount> weight = elements<kCount>(r_.norm_weight, first, r_.in, r_.packed);
    Floats<kCount> bias{};
    if (r_.norm_bias != nullptr) bias = elements<kCount>(r_.norm_bias, first, r_.in, r_.packed);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      y[i] = to_float(from_float<T>((y[i] - mean_) * rstd_ * weight[i] + bias[i]));
    }
    return y;
  }

  __device__ void put(int slot, const Floats<kCount>& values) const {
    *reinterpret_cast<uint4*>(to_ + slot * 16) = encoded<Stages>(values);
  }

 private:
  static constexpr bool kKeeps = sizeof(Input) == sizeof(T);

  const InputRows<T>& r_;
  const T* from_;
  std::uint8_t* to_;
  int row_;
  int warps_;
  float mean_ = 0;
  float rstd_ = 1;
};

/// Fills `to`, (rows, stride), and each row's scale where rows are quantised, to `Codes`; void:
/// they are not. Ends with a barrier, so that all threads may read both.
template <typename Stages, typename Codes, typename T>
__device__ void bring_rows(const InputRows<T>& r, std::uint8_t* to, float* scales) {
  using Bringer = RowBringer<Stages, T>;
  constexpr int kCount = Bringer::kCount;
  __shared__ float shared[3][Stages::kWarps];
  Bringer row(r, to);
  row.copy();

  if (r.norm_weight != nullptr) {
    const auto plus = [](float a, float b) { return a + b; };
    const auto count = static_cast<float>(r.in);
    float mean = 0;
    if (r.norm_bias != nullptr) {
      float sum = 0;
      row.each_slot([&](int slot, int first) {
        const Floats<kCount> x = row.x(slot, first);
#pragma unroll
        for (int i = 0; i < kCount; ++i) sum += x[i];
      });
      mean = over_row(sum, row.warps(), shared[0], plus) / count;
    }
    float squares = 0;
    row.each_slot([&](int slot, int first) {
      const Floats<kCount> x = row.x(slot, first);
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (first + i < r.in) squares += (x[i] - mean) * (x[i] - mean);
      }
    });
    squares = over_row(squares, row.warps(), shared[1], plus);
    row.normalise_as(mean, 1.0F / sqrtf(squares / count + r.eps));
  }

  float scale = 1;
  if constexpr (!std::is_void_v<Codes>) {
    constexpr float kMost = kLargest<Codes>;
    const auto larger = [](float a, float b) { return fmaxf(a, b); };
    float largest = 0;
    row.each_slot([&](int slot, int first) {
      const Floats<kCount> x = row.normalized(slot, first);
#pragma unroll
      for (int i = 0; i < kCount; ++i) largest = fmaxf(largest, fabsf(x[i]));
    });
    largest = over_row(largest, row.warps(), shared[2], larger);
    scale = fmaxf(__fdiv_rn(largest, kMost), kSmallestScale);
    if (row.there() && row.is_first()) scales[row.row()] = scale;
  }
  row.each_slot([&](int slot, int first) {
    Floats<kCount> x = row.normalized(slot, first);
    if constexpr (!std::is_void_v<Codes>) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) x[i] = __fdiv_rn(x[i], scale);
    }
    if constexpr (std::is_same_v<Codes, __nv_fp8_e4m3>) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) x[i] = to_float(__nv_fp8_e4m3(x[i]));
    }
    row.put(slot, x);
  });
  __syncthreads();
}

}  // namespace vramfit::gpu
