#pragma once

#include <algorithm>

#include "kernels/cuda/base/cluster.cuh"
#include "kernels/cuda/base/quad.cuh"
#include "kernels/cuda/base/warpgroup.cuh"
#include "kernels/cuda/base/warpgroup_rows.cuh"
#include "kernels/cuda/small_batch/copy_ahead.cuh"
#include "kernels/cuda/small_batch/finish.cuh"

// More rows than small_batch.cu multiplies at once, on sm_90. Each of a block's warps has a tile of
// 16 rows of the weight, from which it unpacks what a warpgroup's products take from registers; all
// share the rows of x, which lie in shared memory as those products read them. A weight is read
// once, x once for every 128 rows of it. Blocks of a cluster divide the stages, and add up what
// they have.

namespace vramfit::gpu {

/// Of a block, two warpgroups: two blocks of them fill a multiprocessor.
inline constexpr int kManyRowsWarps = 8;

/// A block's ring: of each stage its warps' tiles, and then x. `kGroups`: of kColumns rows of x.
template <typename Stages, int kGroups>
struct ManyRowsRing {
  static constexpr int kThreads = kManyRowsWarps * kWarp;
  static constexpr int kRows = kGroups * kColumns;
  static constexpr int kXBytes = 16 * kStageSlots<Stages> * kRows;
  static constexpr int kXAt = kManyRowsWarps * kStageBytes<Stages>;
  static constexpr int kStep = kXAt + kXBytes;
  /// Sums of a row of x; rows' are in different banks.
  static constexpr int kSumStride = kManyRowsWarps * kTileRows + 4;
  static constexpr int kSumBytes = kRows * kSumStride * 4;
  static constexpr int kRoom = (108 << 10) - Stages::kTableBytes;
  static constexpr int kDepth = std::min(kRoom / kStep, 8);
  static constexpr int kBytes = std::max(kDepth * kStep, kSumBytes);
  static_assert(kDepth >= 2);
};

/// Rows of x as the product reads them: (stages, chunks, kRows, 16 bytes). A chunk is a word each
/// of four lanes' 16 bytes, so that pairs of chunks are what the lanes have of a product's depth.
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

/// A stage's x in shared memory.
template <int kRows>
struct SharedRows {
  unsigned chunks;

  /// Its first pair of chunks.
  __device__ unsigned piece(int index) const { return chunks + index * 4 * 16 * kRows; }
};

/// Sums of a warpgroup's products, of which each warp has its 16 rows.
template <typename Sum, int kGroups>
struct WarpgroupSums : TensorCoreSums<Sum, 1, kGroups> {
  __device__ void add(const uint4& low, const uint4& high, unsigned chunks, auto type) {
    constexpr int kRows = kGroups * kColumns;
    show_rows();
    multiply_rows(this->values, {low.x, high.x, low.y, high.y}, unswizzled_matrix(chunks, kRows),
                  type);
    multiply_rows(this->values, {low.z, high.z, low.w, high.w},
                  unswizzled_matrix(chunks + 2 * 16 * kRows, kRows), type);
    commit_rows();
  }
  __device__ void wait() { wait_for_rows(this->values); }
  __device__ void add_scaled(WarpgroupSums& block, float low_scale, float high_scale) {
    block.wait();
    TensorCoreSums<Sum, 1, kGroups>::add_scaled(block, low_scale, high_scale);
  }
  /// Row by row of x: (kRows, kStride), rows of the weight beside each other.
  template <int kStride>
  __device__ void store_rows(Sum* to) const {
    const Place at;
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      Sum* even = to + (group * kColumns + 2 * at.t) * kStride + at.g;
      const Sum(&sums)[4] = this->values[group][0];
      even[0] = sums[0];
      even[kStride] = sums[1];
      even[8] = sums[2];
      even[kStride + 8] = sums[3];
    }
  }
};

template <typename T, typename Stages, int kGroups>
__global__ void __launch_bounds__(kManyRowsWarps* kWarp, 2)
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
  const int stages = max(share.end_stage - share.first_stage, 0);

  start_next_kernel();
  const TileCopier<Stages> tile(f, weight, first_row);
  const auto copy_tile = [&](int i, int slot) {
    if (i < stages) {
      tile.copy(share.first_stage + i,
                shared_address(ring) + slot * Rings::kStep + warp * kStageBytes<Stages>);
    }
    commit_copies();
  };
  // By one thread.
  const auto copy_x = [&](int i, int slot) {
    if (i >= stages) return;
    expect_bytes(full[slot], Rings::kXBytes);
    copy_bulk(ring + slot * Rings::kStep + Rings::kXAt,
              arranged + std::int64_t{share.first_stage + i} * Rings::kXBytes, Rings::kXBytes,
              full[slot]);
  };
  constexpr int kAhead = Rings::kDepth - 1;
#pragma unroll 1
  for (int i = 0; i < kAhead; ++i) copy_tile(i, i);
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
  WarpgroupSums<Sum, kGroups> sums;
  int slot = 0;
  unsigned phase = 0;  // of `slot`
  for (int i = 0; i < stages; ++i) {
    const std::uint8_t* codes = ring + slot * Rings::kStep + warp * kStageBytes<Stages>;
    wait_for_copies<kAhead - 1>();
    __syncwarp();
    // Where the stage before was, which the warp's lanes have read.
    const int before = slot == 0 ? kAhead : slot - 1;
    copy_tile(i + kAhead, before);
    wait(full[slot], phase);
    weight.multiply(
        sums,
        WeightStage{codes, reinterpret_cast<const uint2*>(codes + kTileBytes),
                    share.first_stage + i, low_row, low_row + f.tile_rows / 2},
        SharedRows<Rings::kRows>{shared_address(ring) + slot * Rings::kStep + Rings::kXAt});
    if constexpr (!Stages::kScaleWords) sums.wait();
    if (lane == 0) arrive(empty[slot]);
    if (threadIdx.x == 0) {
      // By now all warps have multiplied the stage before, or soon will have.
      if (i > 0) wait(empty[before], slot == 0 ? phase ^ 1 : phase);
      copy_x(i + kAhead, before);
    }
    __syncwarp();
    if (++slot == Rings::kDepth) {
      slot = 0;
      phase ^= 1;
    }
  }

  wait_for_copies<0>();
  __syncthreads();
  auto* partials = reinterpret_cast<Sum*>(ring);  // (kRows, kSumStride)
  sums.template store_rows<Rings::kSumStride>(partials + warp * kTileRows);
  if (f.ranks == 1) {
    __syncthreads();
  } else {
    cluster_barrier();
  }
  // Blocks of a cluster, and their warps, take turns at rows of x.
  constexpr int kParts = kManyRowsWarps * kTileRows / kWarp;
  for (int n = share.rank * kManyRowsWarps + warp; n < f.input.rows;
       n += f.ranks * kManyRowsWarps) {
    Element<T> y[kParts];
    Sum whole[kParts] = {};
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const int tile_row = (first_tile + 2 * part + lane / kTileRows) * f.tile_rows;
      y[part] = Element<T>(f, TileRow(f, tile_row, lane % kTileRows).or_none(), n);
    }
    for (int other = 0; other < f.ranks; ++other) {
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        const Sum* sum = partials + n * Rings::kSumStride + part * kWarp + lane;
        if (f.ranks == 1) {
          whole[part] = *sum;
        } else {
          const std::uint32_t word = word_of_block(sum, other);
          whole[part] += reinterpret_cast<const Sum&>(word);
        }
      }
    }
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      y[part].template write<2>(f, static_cast<float>(whole[part]), f.input.scales);
    }
  }
  // No block's sums go before the others have read them.
  if (f.ranks > 1) cluster_barrier();
}

}  // namespace vramfit::gpu
