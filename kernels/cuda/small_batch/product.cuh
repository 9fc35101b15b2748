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
  int rows;  ///< out, of what is gated half of it: partners do not count here and below
  int tile_rows;
  int step_rows;    ///< from a block's or cluster's tile to its next
  int row_bytes;    ///< of the weight
  int stages;       ///< of a row
  int ranks;        ///< blocks of a cluster, each of which has a part of a tile's stages
  int rank_stages;  ///< that part; the last one's may be less
  bool packed;      ///< rows of the weight and of x are whole, aligned 16 bytes

  /// Of `out` and `gated`.
  void tile() {
    rows = gated ? out / 2 : out;
    tile_rows = gated ? kTileRows / 2 : kTileRows;
  }
};

/// What of the product a block does: of every `step_rows` a tile, see TileRow, and of that the
/// stages of its rank.
struct Share {
  int rank;
  int first_row;
  int first_stage;
  int end_stage;

  /// `ranks`: f's, as a constant where it is known.
  template <typename T>
  __device__ Share(const SmallBatch<T>& f, int ranks)
      : rank(static_cast<int>(blockIdx.x) % ranks),
        first_row(static_cast<int>(blockIdx.x) / ranks * f.tile_rows),
        first_stage(rank * f.rank_stages),
        end_stage(min(first_stage + f.rank_stages, f.stages)) {}
};

/// Row `r` of the tile that begins at row `tile`; of what is gated two gates and their two partners
/// take turns, so that a warp that finishes four rows has both.
struct TileRow {
  int row;   ///< may be beyond the weight
  int last;  ///< that the weight has

  template <typename T>
  __device__ TileRow(const SmallBatch<T>& f, int tile, int r) : row(tile + r), last(f.rows - 1) {
    if (!f.gated) return;
    const int partner = r % 4 < 2 ? 0 : f.rows;
    row = tile + r / 4 * 2 + r % 2 + partner;
    last += partner;
  }
  /// To the block's next tile.
  template <typename T>
  __device__ void go_on(const SmallBatch<T>& f) {
    row += f.step_rows;
  }
  /// -1 where the weight has no such row.
  __device__ int or_none() const { return row <= last ? row : -1; }
  /// The weight's last where it has no such row.
  __device__ int or_last(int further = 0) const { return min(row + further, last); }
};

}  // namespace vramfit::gpu
