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

  /// `ranks`: f's, as a constant where it is known.
  template <typename T>
  __device__ Share(const SmallBatch<T>& f, int ranks)
      : rank(static_cast<int>(blockIdx.x) % ranks),
        first_tile(static_cast<int>(blockIdx.x) / ranks),
        tile_step(static_cast<int>(gridDim.x) / ranks),
        first_stage(rank * f.rank_stages),
        end_stage(min(first_stage + f.rank_stages, f.stages)) {}
};

/// Row `r` of every tile; of what is gated two gates and their two partners take turns, so that a
/// warp that finishes four rows has both.
struct TileRow {
  int first;  ///< in the first tile
  int step;   ///< from tile to tile
  int last;   ///< that the weight has

  template <typename T>
  __device__ TileRow(const SmallBatch<T>& f, int r) : first(r), step(kTileRows), last(f.out - 1) {
    if (!f.gated) return;
    const bool gate = r % 4 < 2;
    first = r / 4 * 2 + r % 2 + (gate ? 0 : f.out / 2);
    step = kTileRows / 2;
    if (gate) last = f.out / 2 - 1;
  }
  /// Beyond the weight: -1, or its last.
  __device__ int of(int tile) const {
    const int row = first + tile * step;
    return row <= last ? row : -1;
  }
  __device__ int nearest(int tile) const { return min(first + tile * step, last); }
};

}  // namespace vramfit::gpu
