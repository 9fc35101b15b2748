#pragma once

#include "kernels/cuda/layers/activation.cuh"
#include "kernels/cuda/small_batch/product.cuh"

namespace vramfit::gpu {

/// Two neighbouring elements of a row of T, aligned.
template <typename T>
__device__ float2 load_two(const T* from) {
  float two[2];
  unpack(*reinterpret_cast<const std::uint32_t*>(from), two, T{});
  return {two[0], two[1]};
}
template <typename T>
__device__ void store_two(T* to, float2 values) {
  const float two[2] = {values.x, values.y};
  *reinterpret_cast<std::uint32_t*>(to) = packed(two, T{});
}

/// A lane's four rows of a block's tiles, see TileRow, as two pairs of neighbours: of what is gated
/// two gates and their partners. Finishes elements of y and of the activation as Element does. The
/// weight's rows are in pairs, too, so that a pair is there or is not.
template <typename T>
class RowPairs {
  static constexpr int kPairs = 2;

 public:
  __device__ RowPairs(const SmallBatch<T>& f, int first_tile)
      : f_(f),
        first_{first_tile * f.tile_rows +
               static_cast<int>(threadIdx.x) % kWarp * f.tile_rows / (kTileRows / 4)} {
    first_[1] = f.gated ? first_[0] + f.rows : first_[0] + 2;
    there_[0] = first_[0] < f.rows;
    there_[1] = f.gated ? there_[0] : first_[1] < f.rows;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      if (!there_[i]) continue;
      if (f.weight_scales != nullptr) {
        scales_[i] = *reinterpret_cast<const float2*>(f.weight_scales + first_[i]);
      }
      if (f.bias != nullptr) biases_[i] = load_two(f.bias + first_[i]);
    }
  }

  /// Of row n of x. `sums`: of the four rows.
  __device__ void write(int n, const float (&sums)[2 * kPairs]) const {
    const float x_scale = f_.input.scales == nullptr ? 1.0F : f_.input.scales[n];
    float2 y[kPairs];
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      if (!there_[i]) continue;
      const std::int64_t at = std::int64_t{n} * f_.out + first_[i];
      y[i] = {sums[2 * i] * scales_[i].x * x_scale, sums[2 * i + 1] * scales_[i].y * x_scale};
      y[i] = {y[i].x + biases_[i].x, y[i].y + biases_[i].y};
      if (f_.residual != nullptr) {
        const float2 residual = load_two(f_.residual + at);
        y[i] = {y[i].x + residual.x, y[i].y + residual.y};
      }
      y[i] = {to_float(from_float<T>(y[i].x)), to_float(from_float<T>(y[i].y))};
      store_two(f_.y + at, y[i]);
      if (f_.act != nullptr && !f_.gated) {
        store_two(f_.act + at, float2{gelu(y[i].x).value, gelu(y[i].y).value});
      }
    }
    if (f_.act != nullptr && f_.gated && there_[0]) {
      store_two(f_.act + std::int64_t{n} * f_.rows + first_[0],
                float2{silu(y[0].x).value * y[1].x, silu(y[0].y).value * y[1].y});
    }
  }

 private:
  const SmallBatch<T>& f_;
  int first_[kPairs];
  bool there_[kPairs];
  float2 scales_[kPairs] = {{1, 1}, {1, 1}};
  float2 biases_[kPairs] = {};
};

}  // namespace vramfit::gpu
