#pragma once

#include "kernels/cuda/small_batch/digits.cuh"
#include "kernels/cuda/small_batch/input_rows.cuh"

namespace vramfit::gpu {

/// A row of whole slots of 16 bytes, see InputRows, of which each of a block's threads holds
/// `kHeld` at most: read once, then normalised and quantised in registers. `Codes`: what it is
/// quantised to; void: it is not.
template <typename Stages, typename Codes, int kHeld, typename T>
class HeldRow {
  static constexpr int kCount = 16 / static_cast<int>(sizeof(typename Stages::Input));
  using Elements = Pack<T, kCount>;

 public:
  /// Begins to read the norm's weights, which no kernel before writes.
  __device__ explicit HeldRow(const InputRows<T>& r) : r_(r) {
    each([&](int held, int first) {
      if (r_.norm_weight != nullptr) weights_[held] = Elements::load(r_.norm_weight + first);
      if (r_.norm_bias != nullptr) biases_[held] = Elements::load(r_.norm_bias + first);
    });
  }

  /// Reads the row; returns its scale where it is quantised, otherwise 1.
  __device__ float read(const T* row, float (&shared)[3][kMaxWarps]) {
    each([&](int held, int first) { x_[held] = load_floats<T, kCount>(row + first); });
    if (r_.norm_weight != nullptr) normalise(shared);
    if constexpr (std::is_void_v<Codes>) {
      return 1;
    } else if constexpr (std::is_same_v<Codes, Digits>) {
      unsigned largest = 0;
      each([&](int held, int /*first*/) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
          largest = max(largest, __float_as_uint(x_[held][i]) & 0x7FFFFFFFU);
        }
      });
      const FixedPoint point(block_max(largest, reinterpret_cast<unsigned*>(shared[2])));
      each([&](int held, int /*first*/) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) x_[held][i] *= point.ones;
      });
      return point.scale;
    } else {
      float largest = 0;
      each([&](int held, int /*first*/) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) largest = fmaxf(largest, fabsf(x_[held][i]));
      });
      largest = __uint_as_float(
          block_max(__float_as_uint(largest), reinterpret_cast<unsigned*>(shared[2])));
      const float scale = fmaxf(__fdiv_rn(largest, kLargest<Codes>), kSmallestScale);
      const Divisor by_scale(scale);
      each([&](int held, int /*first*/) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) x_[held][i] = by_scale.divide(x_[held][i]);
        // What is multiplied may be wider than a code.
        if constexpr (sizeof(Codes) < sizeof(typename Stages::Input)) {
#pragma unroll
          for (int i = 0; i < kCount; i += 2) {
            const float2 both = rounded(float2{x_[held][i], x_[held][i + 1]}, Codes{});
            x_[held][i] = both.x;
            x_[held][i + 1] = both.y;
          }
        }
      });
      return scale;
    }
  }

  /// The slots of (count, 16 bytes), or of as many a row of digits; beyond the row they are 0.
  __device__ void store(std::uint8_t* slots, int count) const {
#pragma unroll
    for (int held = 0; held < kHeld; ++held) {
      const int slot = slot_of(held);
      if (slot >= count) continue;  // whole warps, of digits: stages are even in number
      if constexpr (std::is_same_v<Codes, Digits>) {
        DigitRow(slots, count).put(slot, x_[held]);
      } else {
        reinterpret_cast<uint4*>(slots)[slot] = encoded_slot<Stages>(x_[held]);
      }
    }
  }

 private:
  __device__ static int slot_of(int held) {
    return static_cast<int>(threadIdx.x + held * blockDim.x);
  }
  /// Calls `body` with each place of what the thread holds of the row, and the first of its
  /// elements.
  template <typename Body>
  __device__ void each(const Body& body) const {
#pragma unroll
    for (int held = 0; held < kHeld; ++held) {
      const int first = first_element<Stages>(slot_of(held));
      if (first < r_.in) body(held, first);
    }
  }

  /// As NormForward rounds it, but for the last bits of mean and rstd.
  __device__ void normalise(float (&shared)[3][kMaxWarps]) {
    float mean = 0;
    if (r_.norm_bias != nullptr) {
      float sum = 0;
      each([&](int held, int /*first*/) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) sum += x_[held][i];
      });
      mean = block_sum(sum, shared[0]) * inverse_count_;
    }
    float squares = 0;
    each([&](int held, int /*first*/) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) squares += (x_[held][i] - mean) * (x_[held][i] - mean);
    });
    const float rstd = rsqrtf(block_sum(squares, shared[1]) * inverse_count_ + r_.eps);
    each([&](int held, int /*first*/) {
      const Floats<kCount> weight = weights_[held].floats();
      const Floats<kCount> bias = biases_[held].floats();
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        x_[held][i] = (x_[held][i] - mean) * rstd * weight[i] + bias[i];
      }
      x_[held] = Elements(x_[held]).floats();
    });
  }

  const InputRows<T>& r_;
  const float inverse_count_ = 1.0F / static_cast<float>(r_.in);
  Floats<kCount> x_[kHeld] = {};
  Elements weights_[kHeld] = {};
  Elements biases_[kHeld] = {};
};

}  // namespace vramfit::gpu
