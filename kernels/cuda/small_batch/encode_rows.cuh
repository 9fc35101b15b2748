#pragma once

#include "kernels/cuda/small_batch/input_rows.cuh"

namespace vramfit::gpu {

inline constexpr int kEncodingThreads = 512;
/// Slots that a thread holds at most.
inline constexpr int kMostHeld = 2;

/// One block a row, which it normalises and quantises as `bring_rows` does, for all blocks that
/// multiply it: to `encoded` and `scales`, see InputRows. Rows are whole slots, and read once.
/// `kHeld`: slots a thread has.
template <typename Stages, typename Codes, int kHeld, typename T>
__global__ void __launch_bounds__(kEncodingThreads)
    encode_rows(const InputRows<T> r, std::uint8_t* encoded, float* scales) {
  constexpr int kCount = 16;
  using Elements = Pack<T, kCount>;
  __shared__ float shared[3][kMaxWarps];
  start_next_kernel();
  const bool has_norm = r.norm_weight != nullptr;
  const bool has_bias = r.norm_bias != nullptr;
  // Calls `body` with a place of what the thread holds and where that is from; beyond the row x is
  // 0.
  const auto each = [&](const auto& body) {
#pragma unroll
    for (int held = 0; held < kHeld; ++held) {
      const int slot = static_cast<int>(threadIdx.x + held * blockDim.x);
      const int first = first_element<Stages>(slot);
      body(held, slot, first, first < r.in);
    }
  };
  Elements weights[kHeld] = {};
  Elements biases[kHeld] = {};
  each([&](int held, int, int first, bool there) {
    if (there && has_norm) weights[held] = Elements::load(r.norm_weight + first);
    if (there && has_bias) biases[held] = Elements::load(r.norm_bias + first);
  });
  wait_for_previous_kernels();
  const std::int64_t row = blockIdx.x;
  Floats<kCount> x[kHeld] = {};
  each([&](int held, int, int first, bool there) {
    if (there) x[held] = load_floats<T, kCount>(r.x + row * r.in + first);
  });

  if (has_norm) {
    const auto count = static_cast<float>(r.in);
    float mean = 0;
    if (has_bias) {
      float sum = 0;
      each([&](int held, int, int, bool) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) sum += x[held][i];
      });
      mean = block_sum(sum, shared[0]) / count;
    }
    float squares = 0;
    each([&](int held, int, int, bool there) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (there) squares += (x[held][i] - mean) * (x[held][i] - mean);
      }
    });
    const float rstd = 1.0F / sqrtf(block_sum(squares, shared[1]) / count + r.eps);
    each([&](int held, int, int, bool there) {
      const Floats<kCount> weight = weights[held].floats();
      const Floats<kCount> bias = biases[held].floats();
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const float y = (x[held][i] - mean) * rstd * weight[i] + bias[i];
        x[held][i] = there ? to_float(from_float<T>(y)) : 0.0F;
      }
    });
  }

  float largest = 0;
  each([&](int held, int, int, bool) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) largest = fmaxf(largest, fabsf(x[held][i]));
  });
  const float scale =
      fmaxf(__fdiv_rn(block_max(largest, shared[2]), kLargest<Codes>), kSmallestScale);
  if (threadIdx.x == 0) scales[row] = scale;
  const Divisor by_scale(scale);
  each([&](int held, int slot, int, bool) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[held][i] = by_scale.divide(x[held][i]);
    if (slot < r.all_slots) {
      reinterpret_cast<uint4*>(encoded)[row * r.all_slots + slot] = encoded_slot<Stages>(x[held]);
    }
  });
}

}  // namespace vramfit::gpu
