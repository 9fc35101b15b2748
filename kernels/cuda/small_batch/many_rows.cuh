#pragma once

#include <algorithm>

#include "kernels/cuda/base/cluster.cuh"
#include "kernels/cuda/base/quad.cuh"
#include "kernels/cuda/base/warpgroup.cuh"
#include "kernels/cuda/base/warpgroup_rows.cuh"
#include "kernels/cuda/small_batch/copy_ahead.cuh"
#include "kernels/cuda/small_batch/row_pairs.cuh"
#include "kernels/cuda/small_batch/warpgroup_sums.cuh"

// More rows than small_batch.cu multiplies at once, on sm_90. Each of a block's warps has a tile of
// 16 rows of the weight, from which it unpacks what a warpgroup's products take from registers; all
// share the rows of x, which lie in shared memory as those products read them. A weight is read
// once, x once for every 256 rows of it. Blocks of a cluster divide the stages, and add up what
// they have.

namespace vramfit::gpu {

/// Of a block, four warpgroups: what the registers of a multiprocessor hold.
inline constexpr int kManyRowsWarps = 16;
/// Of a step: 128 neighbouring bytes of each row of the weight.
inline constexpr int kStepStages = 2;
/// Blocks of a cluster, at most, as any GPU that has clusters has them.
inline constexpr int kMostManyRowsRanks = 8;

/// A block's ring of steps: of each stage its warps' tiles, and then x of all. `kGroups`: of
/// kColumns rows of x.
template <typename Stages, int kGroups>
struct ManyRowsRing {
  static constexpr int kThreads = kManyRowsWarps * kWarp;
  static constexpr int kRows = kGroups * kColumns;
  static constexpr int kXBytes = 16 * kStageSlots<Stages> * kRows;
  static constexpr int kStageRingBytes = kManyRowsWarps * kStageBytes<Stages> + kXBytes;
  /// Sums of a row of x; rows' are in different banks.
  static constexpr int kSumStride = kManyRowsWarps * kTileRows + 4;
  static constexpr int kSumBytes = kRows * kSumStride * 4;
  static constexpr int kRoom = (216 << 10) - Stages::kTableBytes;
  static constexpr int kStep = kStepStages * kStageRingBytes;
  static constexpr int kXAt = kStepStages * kManyRowsWarps * kStageBytes<Stages>;
  static constexpr int kDepth = std::min(kRoom / kStep, 8);
  static constexpr int kBytes = std::max(kDepth * kStep, kSumBytes);
  static_assert(kDepth >= 2);
};

/// Rows of x as the product reads them: (stages, chunks, kRows, 16 bytes). A chunk is a word each
/// of four lanes' 16 bytes, so that pairs of chunks are what the lanes have of a product's depth.
/// Of rows that there are not nothing is written: their sums are not looked at.
template <typename Stages, int kRows, typename T>
__global__ void __launch_bounds__(256) arrange_rows(const InputRows<T> r, uint4* to) {
  take_turn();
  using Input = typename Stages::Input;
  const int slot = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int row = static_cast<int>(blockIdx.y);
  const int first = first_element<Stages>(slot);
  const auto* x = r.encoded != nullptr ? r.encoded : reinterpret_cast<const std::uint8_t*>(r.x);
  uint4 own = {};
  if (slot < r.all_slots && row < r.rows && first < r.in) {
    own = *reinterpret_cast<const uint4*>(x + row * std::int64_t{r.pitch} +
                                          first * static_cast<int>(sizeof(Input)));
    if constexpr (!Stages::kNatural) own = arranged<Stages>(own);
  }
  std::uint32_t words[kQuadGroups] = {own.x, own.y, own.z, own.w};
  transpose_quad(words);
  if (slot < r.all_slots) to[slot * kRows + row] = {words[0], words[1], words[2], words[3]};
}

/// What a warp copies of its tile: of each stage a lane two rows' 16 bytes, and a word of scales.
template <typename Stages>
class TileCopier {
 public:
  template <typename T>
  __device__ TileCopier(const SmallBatch<T>& f, const Stages& weight, int first_row)
      : row_bytes_(f.row_bytes) {
    const Place at;
    const TileRow row(f, first_row, at.g);
    const int low = row.or_last();
    low_ = weight.codes + 16 * at.t +
           std::uint64_t{static_cast<unsigned>(low)} * static_cast<unsigned>(row_bytes_);
    to_high_ = (row.or_last(f.tile_rows / 2) - low) * row_bytes_;
    if constexpr (Stages::kScaleWords) {
      const TileRow scale_row(f, first_row, static_cast<int>(threadIdx.x) % kWarp / 2);
      words_ = weight.scale_words(static_cast<unsigned>(scale_row.or_last() * weight.blocks),
                                  threadIdx.x % 2);
    }
  }

  __device__ void copy(int stage, unsigned to) const {
    const Place at;
    const int from = stage * kRowBytes;
    const bool there = from + 16 * at.t < row_bytes_;
    copy_async(to + at.chunk(at.t), low_ + from, there);
    copy_async(to + at.chunk(at.t) + 8 * kRowBytes, low_ + from + to_high_, there);
    if constexpr (Stages::kScaleWords) {
      copy_word_async(to + kTileBytes + 4 * (threadIdx.x % kWarp),
                      words_.of(stage * Stages::kStageBlocks));
    }
  }

 private:
  int row_bytes_;
  const std::uint8_t* low_;  ///< its bytes of row g
  int to_high_;              ///< from there to its bytes of row g + 8
  ScaleWords words_{};       ///< lane 2r + i: the ith of row r
};

/// A stage's x in shared memory: where the first pair of chunks of each piece is.
template <int kRows>
struct SharedRows {
  unsigned first;

  __device__ unsigned piece(int index) const { return first + index * 4 * kRows; }
};

/// Sums of the rows of x: (kRows, kStride), rows of the weight beside each other.
template <int kStride, typename Sum, int kGroups>
__device__ void store_rows(const Sum (&sums)[kGroups][4], Sum* to) {
  const Place at;
#pragma unroll
  for (int group = 0; group < kGroups; ++group) {
    Sum* even = to + (group * kColumns + 2 * at.t) * kStride + at.g;
    even[0] = sums[group][0];
    even[kStride] = sums[group][1];
    even[8] = sums[group][2];
    even[kStride + 8] = sums[group][3];
  }
}

/// Adds a step's products. `codes`: the warp's, in shared memory; `x`: of its first stage.
template <typename Stages, typename Rings, typename Sums>
__device__ void multiply_step(const Stages& weight, Sums& sums, const std::uint8_t* codes,
                              int stage, int low_row, int high_row, unsigned x) {
  using Input = typename Stages::Input;
  using Sum = SumOf<Stages>;
  constexpr int kRows = Rings::kRows;
  constexpr int kStageProducts =
      Stages::kElements * static_cast<int>(sizeof(Input)) / kProductBytes;
  // The warp's lanes have the same: that is for the compiler.
  x = __shfl_sync(kWholeWarp, x, 0);
  const auto multiply = [&](auto& to, int s) {
    const std::uint8_t* own = codes + s * kStageBytes<Stages>;
    weight.multiply(to,
                    WeightStage{own, reinterpret_cast<const uint2*>(own + kTileBytes), stage + s,
                                low_row, high_row},
                    SharedRows<kRows>{x + s * (Rings::kXBytes / 16)});
  };
  if constexpr (Stages::kScaleWords) {
    constexpr int kBlockProducts = kStageProducts / Stages::kStageBlocks;
    ScaledBlocks<Products<Sum, Input, kRows, kBlockProducts>> blocks(sums);
#pragma unroll
    for (int s = 0; s < kStepStages; ++s) {
      multiply(blocks, s);
      // Registers of more would not be left.
      if constexpr (kRows > 32) blocks.finish();
    }
    blocks.finish();
  } else {
    Products<Sum, Input, kRows, kStageProducts * kStepStages> products;
#pragma unroll
    for (int s = 0; s < kStepStages; ++s) multiply(products, s);
    products.begin(sums);
    wait_for_rows(sums);
  }
}

/// Four neighbouring sums of `ranks` blocks of the cluster, or of the only one.
template <typename Sum>
__device__ void sum_of_blocks(const Sum* from, int ranks, float (&whole)[4]) {
  Sum sums[4] = {};
  const auto add = [&](const uint4& words) {
    const std::uint32_t four[] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) sums[i] += reinterpret_cast<const Sum&>(four[i]);
  };
  if (ranks == 1) {
    add(*reinterpret_cast<const uint4*>(from));
  } else {
#pragma unroll
    for (int rank = 0; rank < kMostManyRowsRanks; ++rank) {
      if (rank < ranks) add(vector_of_block(from, rank));
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    whole[i] = static_cast<float>(sums[i]);
    // It is read here, also by lanes that write nothing.
    asm volatile("" : "+f"(whole[i])::"memory");
  }
}

template <typename T, typename Stages, int kGroups>
__global__ void __launch_bounds__(kManyRowsWarps* kWarp, 1)
    many_rows(const SmallBatch<T> f, Stages weight, const std::uint8_t* arranged) {
  using Rings = ManyRowsRing<Stages, kGroups>;
  using Sum = SumOf<Stages>;
  __shared__ std::uint64_t full[Rings::kDepth];
  __shared__ std::uint64_t empty[Rings::kDepth];
  auto* table = dynamic_shared<std::uint8_t>();
  std::uint8_t* const ring = table + Stages::kTableBytes;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const Share share(f, f.ranks);
  const int first_tile = static_cast<int>(blockIdx.x) / f.ranks * kManyRowsWarps;
  const int first_row = (first_tile + warp) * f.tile_rows;
  const int steps = (max(share.end_stage - share.first_stage, 0) + kStepStages - 1) / kStepStages;

  start_next_kernel();
  const TileCopier<Stages> tile(f, weight, first_row);
  const auto copy_tiles = [&](int i, int slot) {
    if (i < steps) {
      const unsigned to =
          shared_address(ring) + slot * Rings::kStep + warp * kStepStages * kStageBytes<Stages>;
#pragma unroll
      for (int s = 0; s < kStepStages; ++s) {
        tile.copy(share.first_stage + i * kStepStages + s, to + s * kStageBytes<Stages>);
      }
    }
    commit_copies();
  };
  // By one thread.
  const auto copy_x = [&](int i, int slot) {
    if (i >= steps) return;
    constexpr int kBytes = kStepStages * Rings::kXBytes;
    expect_bytes(full[slot], kBytes);
    copy_bulk(
        ring + slot * Rings::kStep + Rings::kXAt,
        arranged + std::int64_t{share.first_stage} * Rings::kXBytes + std::int64_t{i} * kBytes,
        kBytes, full[slot]);
  };
  constexpr int kAhead = Rings::kDepth - 1;
#pragma unroll 1
  for (int i = 0; i < kAhead; ++i) copy_tiles(i, i);
  if constexpr (Stages::kTableBytes > 0) weight.fill(reinterpret_cast<std::uint32_t*>(table));
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < Rings::kDepth; ++slot) {
      make_barrier(full[slot], 1);
      make_barrier(empty[slot], kManyRowsWarps);
    }
    fence_barriers();
  }
  __syncthreads();
  wait_for_previous_kernels();
  if (threadIdx.x == 0) {
    show_to_copy_engine();
    for (int i = 0; i < kAhead; ++i) copy_x(i, i);
  }
  __syncwarp();

  const Place at;
  const int low_row = TileRow(f, first_row, at.g).row;
  const unsigned x = unswizzled_matrix(shared_address(ring) + Rings::kXAt, Rings::kRows);
  GroupSums<Sum, kGroups> sums = {};
  int slot = 0;
  unsigned phase = 0;  // of `slot`
#pragma unroll 1
  for (int i = 0; i < steps; ++i) {
    wait_for_copies<kAhead - 1>();
    __syncwarp();
    // Where the step before was, which the warp's lanes have read.
    const int before = slot == 0 ? kAhead : slot - 1;
    copy_tiles(i + kAhead, before);
    const auto refill_x = [&] {
      if (threadIdx.x != 0) return;
      if (i > 0) wait(empty[before], slot == 0 ? phase ^ 1 : phase);
      copy_x(i + kAhead, before);
    };
    if constexpr (kAhead == 1) refill_x();
    wait(full[slot], phase);
    multiply_step<Stages, Rings>(
        weight, sums, ring + slot * Rings::kStep + warp * kStepStages * kStageBytes<Stages>,
        share.first_stage + i * kStepStages, low_row, low_row + f.tile_rows / 2,
        x + slot * (Rings::kStep / 16));
    if (lane == 0) arrive(empty[slot]);
    // By now all warps have multiplied the step before, or soon will have.
    if constexpr (kAhead > 1) refill_x();
    __syncwarp();
    if (++slot == Rings::kDepth) {
      slot = 0;
      phase ^= 1;
    }
  }

  wait_for_copies<0>();
  __syncthreads();
  auto* partials = reinterpret_cast<Sum*>(ring);  // (kRows, kSumStride)
  store_rows<Rings::kSumStride>(sums, partials + warp * kTileRows);
  // Warps have each a part of the block's rows that their lanes hold.
  constexpr int kParts = kManyRowsWarps * kTileRows / (4 * kWarp);
  constexpr int kTurns = kManyRowsWarps / kParts;
  const int part = warp % kParts;
  const RowPairs<T> pairs(f, first_tile + part * (kManyRowsWarps / kParts));
  if (f.ranks == 1) {
    __syncthreads();
  } else {
    cluster_barrier();
  }
  // Blocks of a cluster, and their warps, take turns at rows of x.
  for (int n = share.rank * kTurns + warp / kParts; n < f.input.rows; n += f.ranks * kTurns) {
    const Sum* sum = partials + n * Rings::kSumStride + 4 * (part * kWarp + lane);
    float whole[4];
    sum_of_blocks(sum, f.ranks, whole);
    pairs.write(n, whole);
  }
  // No block's sums go before the others have read them, see sum_of_blocks.
  if (f.ranks > 1) {
    tell_cluster();
    wait_for_cluster();
  }
}

}  // namespace vramfit::gpu
