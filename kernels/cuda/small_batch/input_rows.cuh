#pragma once

#include <cstdint>

#include "kernels/cuda/base/divisor.cuh"
#include "kernels/cuda/small_batch/weight_stages.cuh"
#include "model/config/model_config.h"
#include "model/ops/quantized_layout.h"

// The rows that a weight is multiplied with, as each block brings them into its shared memory: in
// the order in which the weight's stages want them. They are copied where they are as they should
// be; otherwise each block normalises and quantises them, as the op says, for itself.

namespace vramfit::gpu {

template <typename T>
struct InputRows {
  const T* x;            ///< (rows, in)
  const T* norm_weight;  ///< null: x is as it should be
  const T* norm_bias;    ///< LayerNorm's, which has a mean
  float eps;
  int rows;
  int in;
  int slots;                    ///< of 16 bytes, of a row in shared memory
  int stride;                   ///< bytes from row to row there
  bool copied;                  ///< as they are: x's, or what follows
  const std::uint8_t* encoded;  ///< quantised: (rows, pitch) bytes; null: they are not yet
  const float* scales;          ///< of those
  int pitch;                    ///< bytes from row to row of x, or of those
  int all_slots;                ///< of a row
};

/// Slots of a row in each stage.
template <typename Stages>
inline constexpr int kStageSlots =
    Stages::kElements* static_cast<int>(sizeof(typename Stages::Input)) / 16;

/// The first of the elements that a row has in a slot.
template <typename Stages>
__device__ int first_element(int slot) {
  constexpr int kPieces = kStageSlots<Stages> / 4;
  const int piece = slot / 4;
  return piece / kPieces * Stages::kElements + Stages::source(piece % kPieces, slot % 4);
}

/// 16 bytes of 16-bit elements in the order in which stages want them.
template <typename Stages>
__device__ uint4 arranged(const uint4& slot) {
  const std::uint32_t from[] = {slot.x, slot.y, slot.z, slot.w};
  std::uint32_t to[4];
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    const int a = Stages::order(2 * w);
    const int b = Stages::order(2 * w + 1);
    to[w] = __byte_perm(from[a / 2], from[b / 2],
                        (a % 2 == 0 ? 0x10 : 0x32) | (b % 2 == 0 ? 0x5400 : 0x7600));
  }
  return {to[0], to[1], to[2], to[3]};
}

/// Fills `to`, (rows, stride), from slot `first_slot` of each row on, and the rows' scales. Ends
/// with a barrier.
template <typename Stages, typename T>
__device__ void copy_rows(const InputRows<T>& r, int first_slot, std::uint8_t* to, float* scales) {
  const auto thread = static_cast<int>(threadIdx.x);
  if (r.encoded != nullptr && thread < r.rows) scales[thread] = r.scales[thread];
#pragma unroll 2
  for (int slot = thread; slot < r.slots; slot += static_cast<int>(blockDim.x)) {
    const int at = first_slot + slot;
    const int first = first_element<Stages>(at);
    const bool there = at < r.all_slots && (r.encoded != nullptr || first < r.in);
    const std::uint8_t* from = r.encoded != nullptr
                                   ? r.encoded + 16 * at
                                   : reinterpret_cast<const std::uint8_t*>(r.x + first);
    uint4 words[kColumns] = {};
#pragma unroll
    for (int row = 0; row < kColumns; ++row) {
      if (there && row < r.rows)
        words[row] = *reinterpret_cast<const uint4*>(from + row * std::int64_t{r.pitch});
    }
#pragma unroll
    for (int row = 0; row < kColumns; ++row) {
      if (row >= r.rows) continue;
      if constexpr (!Stages::kNatural) words[row] = arranged<Stages>(words[row]);
      *reinterpret_cast<uint4*>(to + row * r.stride + 16 * slot) = words[row];
    }
  }
  __syncthreads();
}

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

/// Elements of a row from `first` on, zeros beyond it. kPacked: all or none are the row's.
template <int kCount, bool kPacked, typename T>
__device__ Floats<kCount> elements(const T* row, int first, int in) {
  if constexpr (kPacked) {
    return first < in ? load_floats<T, kCount>(row + first) : Floats<kCount>{};
  } else {
    Floats<kCount> result;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      result[i] = first + i < in ? to_float(row[first + i]) : 0.0F;
    }
    return result;
  }
}

/// 16 bytes of what is multiplied.
template <typename Stages, int kCount>
__device__ uint4 encoded_slot(const Floats<kCount>& values) {
  using Input = typename Stages::Input;
  constexpr int kPerWord = 4 / static_cast<int>(sizeof(Input));
  std::uint32_t words[4];
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    if constexpr (sizeof(Input) == 1) {
      words[w] = four_codes(values.values + 4 * w, Input{});
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

/// Elements from `first` on as NormForward rounds them.
template <bool kPacked, int kCount, typename T>
__device__ Floats<kCount> normalized_elements(const InputRows<T>& r, Floats<kCount> y, int first,
                                              float mean, float rstd) {
  const Floats<kCount> weight = elements<kCount, kPacked>(r.norm_weight, first, r.in);
  Floats<kCount> bias{};
  if (r.norm_bias != nullptr) bias = elements<kCount, kPacked>(r.norm_bias, first, r.in);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    y[i] = to_float(from_float<T>((y[i] - mean) * rstd * weight[i] + bias[i]));
  }
  return y;
}

/// A block's rows: warps share a row where there are fewer rows than warps.
template <typename Stages, bool kPacked, typename T>
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
    const int threads = warps_ * kWarp;
    const int slots = there() ? r_.slots : 0;
#pragma unroll 1
    for (int slot = static_cast<int>(threadIdx.x) % threads; slot < slots; slot += threads) {
      body(slot, first_element<Stages>(slot));
    }
  }

  /// x as it is, to be read again from shared memory where a slot has as many bytes of it.
  __device__ void copy() const {
    if constexpr (kKeeps) {
      each_slot([&](int slot, int first) {
        store_floats<T, kCount>(reinterpret_cast<T*>(to_ + slot * 16),
                                elements<kCount, kPacked>(from_, first, r_.in));
      });
    }
  }
  __device__ Floats<kCount> x(int slot, int first) const {
    if constexpr (kKeeps)
      return load_floats<T, kCount>(reinterpret_cast<const T*>(to_ + slot * 16));
    return elements<kCount, kPacked>(from_, first, r_.in);
  }

  __device__ void normalise_as(float mean, float rstd) {
    mean_ = mean;
    rstd_ = rstd;
  }
  /// As NormForward rounds it; x where there is no norm.
  __device__ Floats<kCount> normalized(int slot, int first) const {
    const Floats<kCount> y = x(slot, first);
    return r_.norm_weight == nullptr ? y : normalized_elements<kPacked>(r_, y, first, mean_, rstd_);
  }

  __device__ void put(int slot, const Floats<kCount>& values) const {
    *reinterpret_cast<uint4*>(to_ + slot * 16) = encoded_slot<Stages>(values);
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
template <typename Stages, typename Codes, bool kPacked, typename T>
__device__ void bring_rows(const InputRows<T>& r, std::uint8_t* to, float* scales) {
  using Bringer = RowBringer<Stages, kPacked, T>;
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
  const Divisor by_scale(scale);
  row.each_slot([&](int slot, int first) {
    Floats<kCount> x = row.normalized(slot, first);
    if constexpr (!std::is_void_v<Codes>) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) x[i] = by_scale.divide(x[i]);
    }
    row.put(slot, x);
  });
  __syncthreads();
}

}  // namespace vramfit::gpu
