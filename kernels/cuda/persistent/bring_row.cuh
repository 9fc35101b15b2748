#pragma once

#include "kernels/cuda/persistent/multiply_row.cuh"

namespace vramfit::gpu {

/// Shared memory for the row that a linear multiplies, or for what attention's warps leave each
/// other.
inline constexpr int kRowRoom = 32 << 10;

/// The one row of a linear: as `bring_rows`, see input_rows.cuh, has several, this has one in
/// registers of the block's threads. `Codes`: what it is quantised to; void: it is not.
template <typename T, typename Stages, typename Codes>
class OneRow {
  using Input = typename Stages::Input;
  static constexpr int kCount = 16 / static_cast<int>(sizeof(Input));  ///< elements of a slot
  static constexpr int kThreads = Stages::kWarps * kWarp;
  using Elements = Pack<T, kCount>;

 public:
  static constexpr int kHeld = 4;  ///< slots of a thread
  static constexpr int kMostSlots = kHeld * kThreads;

  /// What the block's threads share.
  struct Shared {
    float of_warps[3][Stages::kWarps];
    float x_scale;                                   ///< where the row is quantised
    float x_sums[kMostSlots / kStageSlots<Stages>];  ///< of each stage
  };

  /// Begins to read what nothing writes.
  __device__ explicit OneRow(const InputRows<T>& r) : r_(r) {
    each([&](int held, int /*slot*/, int first) {
      if (r.norm_weight != nullptr) weights_[held] = Elements::load(r.norm_weight + first);
    });
  }

  /// Fills `to` and `shared`; ends with a barrier.
  __device__ void bring(std::uint8_t* to, Shared& shared) {
    Elements x[kHeld] = {};
    each([&](int held, int /*slot*/, int first) { x[held] = Elements::load(r_.x + first); });
    const auto count = static_cast<float>(r_.in);
    float mean = 0;
    float rstd = 1;
    if (r_.norm_bias != nullptr) {
      float sum = 0;
      each([&](int held, int /*slot*/, int /*first*/) {
        const Floats<kCount> values = x[held].floats();
#pragma unroll
        for (int i = 0; i < kCount; ++i) sum += values[i];
      });
      mean = over_row(sum, shared.of_warps[0], Plus{}) / count;
    }
    if (r_.norm_weight != nullptr) {
      float squares = 0;
      each([&](int held, int /*slot*/, int /*first*/) {
        const Floats<kCount> values = x[held].floats();
#pragma unroll
        for (int i = 0; i < kCount; ++i) squares += (values[i] - mean) * (values[i] - mean);
      });
      rstd = 1.0F / sqrtf(over_row(squares, shared.of_warps[1], Plus{}) / count + r_.eps);
      each([&](int held, int /*slot*/, int first) {
        Floats<kCount> bias{};
        if (r_.norm_bias != nullptr) bias = load_floats<T, kCount>(r_.norm_bias + first);
        x[held] = Elements(normalized(x[held].floats(), weights_[held].floats(), bias, mean, rstd));
      });
    }
    float scale = 1;
    if constexpr (!std::is_void_v<Codes>) {
      float largest = 0;
      each([&](int held, int /*slot*/, int /*first*/) {
        const Floats<kCount> values = x[held].floats();
#pragma unroll
        for (int i = 0; i < kCount; ++i) largest = fmaxf(largest, fabsf(values[i]));
      });
      largest = over_row(largest, shared.of_warps[2], Larger{});
      scale = fmaxf(__fdiv_rn(largest, kLargest<Codes>), kSmallestScale);
      if (threadIdx.x == 0) shared.x_scale = scale;
    }
    put(x, scale, to, shared);
    __syncthreads();
  }

 private:
  struct Plus {
    __device__ float operator()(float a, float b) const { return a + b; }
  };
  struct Larger {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
  };

  /// Calls `body` with each place of what the thread holds of the row, its slot and the first of
  /// its elements.
  template <typename Body>
  __device__ void each(const Body& body) const {
    const auto thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int held = 0; held < kHeld; ++held) {
      const int slot = thread + held * kThreads;
      const int first = first_element<Stages>(slot);
      if (first < r_.in) body(held, slot, first);
    }
  }

  /// As NormForward rounds it, when it is packed again.
  __device__ static Floats<kCount> normalized(Floats<kCount> y, const Floats<kCount>& weight,
                                              const Floats<kCount>& bias, float mean, float rstd) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) y[i] = (y[i] - mean) * rstd * weight[i] + bias[i];
    return y;
  }

  /// The row over all warps, by way of a float of each.
  template <typename Combine>
  __device__ static float over_row(float value, float* of_warps, const Combine& combine) {
#pragma unroll
    for (int mask = kWarp / 2; mask > 0; mask /= 2) {
      value = combine(value, __shfl_xor_sync(kWholeWarp, value, mask));
    }
    const auto thread = static_cast<int>(threadIdx.x);
    if (thread % kWarp == 0) of_warps[thread / kWarp] = value;
    __syncthreads();
    value = of_warps[0];
#pragma unroll
    for (int warp = 1; warp < Stages::kWarps; ++warp) value = combine(value, of_warps[warp]);
    return value;
  }

  /// All slots that stages read: beyond the row they are 0.
  __device__ void put(const Elements (&x)[kHeld], float scale, std::uint8_t* to,
                      Shared& shared) const {
    const Divisor by_scale(scale);
    const auto thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int held = 0; held < kHeld; ++held) {
      const int slot = thread + held * kThreads;
      // Whole warps: a stage's slots are neighbours.
      if (slot - thread % kWarp >= r_.slots) continue;
      Floats<kCount> values = x[held].floats();
      if constexpr (!std::is_void_v<Codes>) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) values[i] = by_scale.divide(values[i]);
      }
      if (slot < r_.slots) {
        *reinterpret_cast<uint4*>(to + slot * 16) = encoded_slot<Stages>(values);
      }
      if constexpr (kSumsStages<Stages>) {
        float sum = 0;
#pragma unroll
        for (int i = 0; i < kCount; ++i) sum += values[i];
        sum = warp_sum<kStageSlots<Stages>>(sum);
        if (slot % kStageSlots<Stages> == 0) shared.x_sums[slot / kStageSlots<Stages>] = sum;
      }
    }
  }

  const InputRows<T>& r_;
  Elements weights_[kHeld];
};

}  // namespace vramfit::gpu
