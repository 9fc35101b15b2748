#pragma once

#include "kernels/cuda/small_batch/input_rows.cuh"

namespace vramfit::gpu {

inline constexpr int kSums = kTileRows * kColumns;

/// What comes around the product.
template <typename T>
struct SmallBatch {
  InputRows<T> input;
  const float* weight_scales;  ///< of 8 bits; null: none
  const T* bias;
  const T* residual;
  T* y;
  T* act;      ///< null: none
  bool gated;  ///< act = silu(the first half of y) · the second; otherwise gelu(y)
  int out;
  int row_bytes;  ///< of the weight
  int stages;     ///< of a row
  int tiles;
  int ranks;        ///< blocks of a cluster, each of which has a part of a tile's stages
  int rank_stages;  ///< that part; the last one's may be less
  bool packed;      ///< rows of the weight and of x are whole, aligned 16 bytes
};

/// What of the product a block does.
struct Share {
  int rank;
  int first_tile;
  int tile_step;
  int first_stage;
  int end_stage;

  template <typename T>
  __device__ explicit Share(const SmallBatch<T>& f)
      : rank(static_cast<int>(blockIdx.x) % f.ranks),
        first_tile(static_cast<int>(blockIdx.x) / f.ranks),
        tile_step(static_cast<int>(gridDim.x) / f.ranks),
        first_stage(rank * f.rank_stages),
        end_stage(min(first_stage + f.rank_stages, f.stages)) {}
};

/// Row `r` of a tile; of what is gated two gates and their two partners take turns, so that a warp
/// that finishes four rows has both. Beyond the weight: -1.
template <typename T>
__device__ int row_of(const SmallBatch<T>& f, int tile, int r) {
  if (!f.gated) {
    const int row = tile * kTileRows + r;
    return row < f.out ? row : -1;
  }
  const int row = tile * kTileRows / 2 + r / 4 * 2 + r % 2;
  if (row >= f.out / 2) return -1;
  return r % 4 < 2 ? row : f.out / 2 + row;
}

}  // namespace vramfit::gpu
