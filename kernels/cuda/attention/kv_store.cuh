#pragma once

#include "kernels/cuda/base/dispatch.cuh"
#include "model/ops/attention_ops.h"
#include "model/ops/quantized_layout.h"

namespace vramfit::gpu {

/// A cache's elements, and their scales where they are in 8 bits.
template <typename Stored>
struct KvHeads {
  Stored* keys;
  Stored* values;
  float* key_scales;
  float* value_scales;

  explicit KvHeads(const KvBlocks& cache)
      : keys(cache.keys.as<Stored>()),
        values(cache.values.as<Stored>()),
        key_scales(cache.key_scales == nullptr ? nullptr : cache.key_scales->as<float>()),
        value_scales(cache.value_scales == nullptr ? nullptr : cache.value_scales->as<float>()) {}

  /// A warp stores a position's head, of keys or of values, whose elements its lanes have: the i-th
  /// of a lane goes to `column(i)`, where it is there.
  template <int kCount, typename Column, typename There>
  __device__ void store(bool key, std::int64_t place, int head_dim, const Floats<kCount>& head,
                        const Column& column, const There& there) const {
    Stored* to = (key ? keys : values) + place * head_dim;
    if constexpr (sizeof(Stored) > 1) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (there(i)) to[column(i)] = from_float<Stored>(head[i]);
      }
    } else {
      constexpr float kMost = kLargest<Stored>;
      float largest = 0;
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (there(i)) largest = fmaxf(largest, fabsf(head[i]));
      }
      const float scale = fmaxf(__fdiv_rn(warp_max(largest), kMost), kSmallestScale);
      auto* bytes = reinterpret_cast<std::uint8_t*>(to);
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (there(i)) bytes[column(i)] = eight_bits(__fdiv_rn(head[i], scale), Stored{});
      }
      if (threadIdx.x % kWarp == 0) (key ? key_scales : value_scales)[place] = scale;
    }
  }
};

}  // namespace vramfit::gpu
