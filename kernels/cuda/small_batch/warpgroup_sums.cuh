#pragma once

#include "kernels/cuda/base/warpgroup.cuh"
#include "kernels/cuda/base/warpgroup_rows.cuh"
#include "kernels/cuda/small_batch/stage.cuh"

// What a stage's products are summed in where a warpgroup multiplies, see weight_stages.cuh. The
// products are gathered and begun together, as each beginning waits for all four warps.

namespace vramfit::gpu {

/// Sums of a warpgroup's products, of which each warp has its 16 rows: those of g and g + 8 with
/// columns 2t and 2t + 1 of each group, see Place.
template <typename Sum, int kGroups>
using GroupSums = Sum[kGroups][4];

/// Products that have not begun, at most `kMost`. `kRows`: of x.
template <typename Sum_, typename Input, int kRows, int kMost>
class Products {
 public:
  using Sum = Sum_;
  static constexpr int kGroups = kRows / kColumns;
  using Sums = GroupSums<Sum, kGroups>;

  /// `columns`: the first of two matrices, see SharedRows.
  __device__ void add(const uint4& low, const uint4& high, unsigned columns, Input /*type*/) {
    put({low.x, high.x, low.y, high.y}, columns);
    put({low.z, high.z, low.w, high.w}, columns + 2 * kRows);
  }
  __device__ void begin(Sums& sums) {
    show_rows(rows_);
#pragma unroll
    for (int i = 0; i < kMost; ++i) multiply_rows(sums, rows_[i], columns_[i], Input{});
    commit_products();
  }

 private:
  __device__ void put(const std::uint32_t (&row)[4], unsigned columns) {
#pragma unroll
    for (int i = 0; i < 4; ++i) rows_[count_][i] = row[i];
    columns_[count_++] = columns;
  }

  std::uint32_t rows_[kMost][4];
  unsigned columns_[kMost];
  int count_ = 0;  ///< known where the compiler has unrolled what adds
};

/// Sums of blocks, each of which is scaled: while one is multiplied the next is unpacked.
template <typename Block_>
class ScaledBlocks {
 public:
  using Block = Block_;
  using Sums = typename Block::Sums;

  __device__ explicit ScaledBlocks(Sums& sums) : sums_(sums) {}

  __device__ void add_scaled(Block& block, float low_scale, float high_scale) {
    finish();
    clear(block_);
    block.begin(block_);
    low_scale_ = low_scale;
    high_scale_ = high_scale;
    begun_ = true;
  }
  /// Adds what was begun.
  __device__ void finish() {
    if (!begun_) return;
    wait_for_rows(block_);
    begun_ = false;
#pragma unroll
    for (int group = 0; group < Block::kGroups; ++group) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        sums_[group][i] += (i < 2 ? low_scale_ : high_scale_) * block_[group][i];
      }
    }
  }

 private:
  __device__ static void clear(Sums& sums) {
#pragma unroll
    for (int i = 0; i < 4 * Block::kGroups; ++i) {
      sums[i / 4][i % 4] = 0;
    }
  }

  Sums& sums_;
  Sums block_;
  float low_scale_ = 0;
  float high_scale_ = 0;
  bool begun_ = false;  ///< known where the compiler has unrolled what adds
};

}  // namespace vramfit::gpu
