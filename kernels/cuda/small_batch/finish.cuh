#pragma once

#include "kernels/cuda/layers/activation.cuh"
#include "kernels/cuda/small_batch/product.cuh"

namespace vramfit::gpu {

/// Brings near what is added to the block's rows or scales them, and no kernel before writes: under
/// way beside the weight it would come late.
template <typename T>
__device__ void prefetch_of_rows(const SmallBatch<T>& f, const Share& share) {
  const int thread = static_cast<int>(threadIdx.x);
  const int tile = share.first_tile + thread / 2 * share.tile_step;
  if (tile >= f.tiles) return;
  // A tile's first row, and of what is gated its first partner.
  const int row = row_of(f, tile, thread % 2 * 2);
  if (row < 0) return;
  if (f.weight_scales != nullptr) prefetch(f.weight_scales + row);
  if (f.bias != nullptr) prefetch(f.bias + row);
}

/// What a thread finishes of a tile: an element of y, and of the activation; blocks of a cluster
/// have each its part of them, in whole warps. What it needs beside the sums is asked for before
/// they are there.
template <int kWarps, typename T>
class Finish {
 public:
  __device__ Finish(const SmallBatch<T>& f, const Share& share, int tile) : f_(f) {
    const int own = static_cast<int>(threadIdx.x);
    if (own >= kSums || own * f.ranks / kSums != share.rank) return;
    row_ = row_of(f, tile, own / kColumns);
    n_ = own % kColumns;
    if (row_ < 0 || n_ >= f.input.rows) return;
    there_ = true;
    if (f.weight_scales != nullptr) scale_ = f.weight_scales[row_];
    if (f.bias != nullptr) bias_ = f.bias[row_];
    if (f.residual != nullptr) residual_ = f.residual[at()];
  }

  /// Of sums over the warps; `x_scales`: null where rows are not quantised.
  template <typename Sum>
  __device__ void write(const Sum* sums, const float* x_scales) const {
    Sum whole = 0;
    if (there_ && f_.ranks == 1) {
#pragma unroll
      for (int warp = 0; warp < kWarps; ++warp) whole += sums[warp * kSums + threadIdx.x];
    } else if (there_) {
      for (int rank = 0; rank < f_.ranks; ++rank) {
#pragma unroll
        for (int warp = 0; warp < kWarps; ++warp) {
          const std::uint32_t word = word_of_block(sums + warp * kSums + threadIdx.x, rank);
          whole += reinterpret_cast<const Sum&>(word);
        }
      }
    }
    auto y = static_cast<float>(whole);
    if (f_.weight_scales != nullptr) y *= scale_;
    if (x_scales != nullptr && there_) y *= x_scales[n_];
    if (f_.bias != nullptr) y += to_float(bias_);
    if (f_.residual != nullptr) y += to_float(residual_);
    const T rounded = from_float<T>(y);
    if (there_) f_.y[at()] = rounded;
    if (f_.act != nullptr) activate(to_float(rounded));
  }

 private:
  __device__ std::int64_t at() const { return std::int64_t{n_} * f_.out + row_; }
  /// A gate's partner is two rows further on, half a warp away.
  __device__ void activate(float y) const {
    if (!f_.gated) {
      if (there_) f_.act[at()] = from_float<T>(gelu(y).value);
      return;
    }
    const float up = __shfl_xor_sync(kWholeWarp, y, kWarp / 2);
    if (there_ && threadIdx.x % kWarp < kWarp / 2) {
      f_.act[std::int64_t{n_} * (f_.out / 2) + row_] = from_float<T>(silu(y).value * up);
    }
  }

  const SmallBatch<T>& f_;
  bool there_ = false;
  int row_ = 0;
  int n_ = 0;
  float scale_ = 1;
  T bias_{};
  T residual_{};
};

}  // namespace vramfit::gpu
