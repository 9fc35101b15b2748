#pragma once

#include "kernels/cuda/base/cluster.cuh"
#include "kernels/cuda/layers/activation.cuh"
#include "kernels/cuda/small_batch/product.cuh"

namespace vramfit::gpu {

/// Brings near what is added to the block's rows or scales them, and no kernel before writes: under
/// way beside the weight it would come late.
template <typename T>
__device__ void prefetch_of_rows(const SmallBatch<T>& f, const Share& share) {
  const int thread = static_cast<int>(threadIdx.x);
  // A tile's first row, and of what is gated its first partner.
  const int row = TileRow(f, share.first_row + thread / 2 * f.step_rows, thread % 2 * 2).or_none();
  if (row < 0) return;
  if (f.weight_scales != nullptr) prefetch(f.weight_scales + row);
  if (f.bias != nullptr) prefetch(f.bias + row);
}

/// An element of y, and of the activation, as a thread finishes it. What it needs beside the sum is
/// asked for before that is there.
template <typename T>
class Element {
 public:
  Element() = default;
  /// Nothing where there is no such row.
  __device__ Element(const SmallBatch<T>& f, int row, int n)
      : there_(row >= 0 && n < f.input.rows), row_(row), n_(n) {
    if (!there_) return;
    if (f.weight_scales != nullptr) scale_ = f.weight_scales[row_];
    if (f.bias != nullptr) bias_ = f.bias[row_];
    if (f.residual != nullptr) residual_ = f.residual[at(f)];
  }

  __device__ bool there() const { return there_; }
  /// `x_scales`: null where rows are not scaled. A gate's partner, two rows further on, is
  /// `kPartner` lanes away. Whole warps do this.
  template <int kPartner>
  __device__ void write(const SmallBatch<T>& f, float y, const float* x_scales) const {
    if (f.weight_scales != nullptr) y *= scale_;
    if (x_scales != nullptr && there_) y *= x_scales[n_];
    if (f.bias != nullptr) y += to_float(bias_);
    if (f.residual != nullptr) y += to_float(residual_);
    const T rounded = from_float<T>(y);
    if (there_) f.y[at(f)] = rounded;
    if (f.act != nullptr) activate<kPartner>(f, to_float(rounded));
  }

 private:
  __device__ std::int64_t at(const SmallBatch<T>& f) const {
    return std::int64_t{n_} * f.out + row_;
  }
  template <int kPartner>
  __device__ void activate(const SmallBatch<T>& f, float y) const {
    if (!f.gated) {
      if (there_) f.act[at(f)] = from_float<T>(gelu(y).value);
      return;
    }
    const float up = __shfl_xor_sync(kWholeWarp, y, kPartner);
    if (there_ && (threadIdx.x & kPartner) == 0) {
      f.act[std::int64_t{n_} * (f.out / 2) + row_] = from_float<T>(silu(y).value * up);
    }
  }

  bool there_ = false;
  int row_ = -1;
  int n_ = 0;
  float scale_ = 1;
  T bias_{};
  T residual_{};
};

/// What a thread finishes of a tile of several rows of x; blocks of a cluster have each its part of
/// the elements, in whole warps.
template <int kWarps, typename T>
class Finish {
 public:
  __device__ Finish(const SmallBatch<T>& f, const Share& share, const TileRow& row) : f_(f) {
    const int own = static_cast<int>(threadIdx.x);
    if (own >= kSums || own * f.ranks / kSums != share.rank) return;
    element_ = Element<T>(f, row.or_none(), own % kColumns);
  }

  /// Of sums over the warps; `x_scales`: null where rows are not quantised.
  template <typename Sum>
  __device__ void write(const Sum* sums, const float* x_scales) const {
    Sum whole = 0;
    if (element_.there() && f_.ranks == 1) {
#pragma unroll
      for (int warp = 0; warp < kWarps; ++warp) whole += sums[warp * kSums + threadIdx.x];
    } else if (element_.there()) {
      for (int rank = 0; rank < f_.ranks; ++rank) {
#pragma unroll
        for (int warp = 0; warp < kWarps; ++warp) {
          const std::uint32_t word = word_of_block(sums + warp * kSums + threadIdx.x, rank);
          whole += reinterpret_cast<const Sum&>(word);
        }
      }
    }
    element_.template write<2 * kColumns>(f_, static_cast<float>(whole), x_scales);
  }

 private:
  const SmallBatch<T>& f_;
  Element<T> element_;
};

}  // namespace vramfit::gpu
