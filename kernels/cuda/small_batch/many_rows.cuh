#pragma once

#include <algorithm>

#include "kernels/cuda/base/cluster.cuh"
#include "kernels/cuda/small_batch/copy_ahead.cuh"
#include "kernels/cuda/small_batch/finish.cuh"

// More rows than a tensor core multiplies at once. Each of a block's warps has a tile of 16 rows of
// the weight; all go through its stages side by side, and share the rows of x, of which each stage
// brings what it multiplies. A weight is read once, x once for every 128 rows of it. Blocks of a
// cluster divide the stages, and add up what they have.

namespace vramfit::gpu {

/// Of a block: two blocks of them fill a multiprocessor.
inline constexpr int kManyRowsWarps = 8;

/// A block's ring: of each stage its warps' tiles, and then x. `kGroups`: of kColumns rows of x.
template <typename Stages, int kGroups>
struct ManyRowsRing {
  static constexpr int kThreads = kManyRowsWarps * kWarp;
  static constexpr int kRows = kGroups * kColumns;
  static constexpr int kSlots = kStageSlots<Stages>;  ///< of 16 bytes, of a row of x
  /// Neighbouring rows' pieces are in different banks.
  static constexpr int kStride = 16 * kSlots % 128 == 0 ? 16 * kSlots + 64 : 16 * kSlots;
  static constexpr int kXAt = kManyRowsWarps * kStageBytes<Stages>;
  static constexpr int kStep = kXAt + kRows * kStride;
  static constexpr int kSumBytes = kManyRowsWarps * kRows * kTileRows * 4;
  /// A KiB less than a block may have on sm_86, and less than half of what sm_90 has.
  static constexpr int kRoom = (98 << 10) - Stages::kTableBytes;
  static constexpr int kDepth = std::min(kRoom / kStep, 8);
  static constexpr int kBytes = std::max(kDepth * kStep, kSumBytes);
  static_assert(kDepth >= 2);
};

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

/// What a block copies of x, whose rows are as the op has them or encoded.
template <typename Rings, typename Stages>
class XCopier {
 public:
  template <typename T>
  __device__ explicit XCopier(const SmallBatch<T>& f)
      : from_(f.input.encoded != nullptr ? f.input.encoded
                                         : reinterpret_cast<const std::uint8_t*>(f.input.x)),
        rows_(f.input.rows),
        row_bytes_(f.input.in * static_cast<int>(sizeof(typename Stages::Input))),
        pitch_(f.input.pitch) {}

  __device__ void copy(int stage, unsigned to) const {
    each([&](int row, int slot) {
      const int byte = first_element<Stages>(stage * Rings::kSlots + slot) *
                       static_cast<int>(sizeof(typename Stages::Input));
      copy_async(to + row * Rings::kStride + 16 * slot, from_ + row * std::int64_t{pitch_} + byte,
                 byte < row_bytes_);
    });
  }
  /// Puts in order what the thread has copied.
  __device__ void arrange(std::uint8_t* stage) const {
    if constexpr (!Stages::kNatural) {
      each([&](int row, int slot) {
        auto* own = reinterpret_cast<uint4*>(stage + row * Rings::kStride + 16 * slot);
        *own = arranged<Stages>(*own);
      });
    }
  }

 private:
  /// Calls `body` with the rows and slots of a stage that are the thread's.
  template <typename Body>
  __device__ void each(const Body& body) const {
#pragma unroll
    for (int i = static_cast<int>(threadIdx.x); i < Rings::kRows * Rings::kSlots;
         i += Rings::kThreads) {
      if (i / Rings::kSlots < rows_) body(i / Rings::kSlots, i % Rings::kSlots);
    }
  }

  const std::uint8_t* from_;
  int rows_;
  int row_bytes_;
  int pitch_;
};

/// A stage's x, as stages multiply it. Of rows that there are not, sums are not looked at.
template <int kStride>
struct SharedRows {
  const std::uint8_t* first;  ///< a lane's 16 bytes of its first row's first piece

  __device__ auto piece(int index) const {
    return [from = first + index * kRowBytes](int group) {
      return *reinterpret_cast<const uint4*>(from + group * kColumns * kStride);
    };
  }
};

template <typename T, typename Stages, int kGroups>
__global__ void __launch_bounds__(kManyRowsWarps* kWarp, 2)
    many_rows(const SmallBatch<T> f, Stages weight) {
  using Rings = ManyRowsRing<Stages, kGroups>;
  using Sum = SumOf<Stages>;
  auto* table = dynamic_shared<std::uint8_t>();
  std::uint8_t* const ring = table + Stages::kTableBytes;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const Share share(f, f.ranks);
  const int first_tile = static_cast<int>(blockIdx.x) / f.ranks * kManyRowsWarps;
  const int first_row = (first_tile + warp) * f.tile_rows;

  start_next_kernel();
  const TileCopier<Stages> tile(f, weight, first_row);
  const XCopier<Rings, Stages> x(f);
  const auto copy_tile = [&](int stage, int slot) {
    if (stage >= share.end_stage) return;
    tile.copy(stage, shared_address(ring) + slot + warp * kStageBytes<Stages>);
  };
  const auto copy_x = [&](int stage, int slot) {
    if (stage < share.end_stage) x.copy(stage, shared_address(ring) + slot + Rings::kXAt);
    commit_copies();
  };
  constexpr int kAhead = Rings::kDepth - 1;
#pragma unroll 1
  for (int i = 0; i < kAhead; ++i) copy_tile(share.first_stage + i, i * Rings::kStep);
  if constexpr (Stages::kTableBytes > 0) weight.fill(reinterpret_cast<std::uint32_t*>(table));
  wait_for_previous_kernels();
#pragma unroll 1
  for (int i = 0; i < kAhead; ++i) copy_x(share.first_stage + i, i * Rings::kStep);

  const Place at;
  const int low_row = TileRow(f, first_row, at.g).row;
  TensorCoreSums<Sum, 1, kGroups> sums;
  int slot = 0;
  for (int stage = share.first_stage; stage < share.end_stage; ++stage) {
    wait_for_copies<kAhead - 1>();
    std::uint8_t* const own = ring + slot;
    x.arrange(own + Rings::kXAt);
    __syncthreads();
    // All have multiplied the stage before, whose place the next one takes.
    const int before = (slot == 0 ? Rings::kDepth * Rings::kStep : slot) - Rings::kStep;
    copy_tile(stage + kAhead, before);
    copy_x(stage + kAhead, before);
    const std::uint8_t* codes = own + warp * kStageBytes<Stages>;
    weight.multiply(
        sums,
        WeightStage{codes, reinterpret_cast<const uint2*>(codes + kTileBytes), stage, low_row,
                    low_row + f.tile_rows / 2},
        SharedRows<Rings::kStride>{own + Rings::kXAt + at.g * Rings::kStride + 16 * at.t});
    slot = slot + Rings::kStep == Rings::kDepth * Rings::kStep ? 0 : slot + Rings::kStep;
  }

  wait_for_copies<0>();
  __syncthreads();
  auto* partials = reinterpret_cast<Sum*>(ring);  // (warps, groups, 16, 8)
  sums.store(partials + warp * kGroups * kSums);
  if (f.ranks == 1) {
    __syncthreads();
  } else {
    cluster_barrier();
  }
  // Blocks of a cluster take turns at 32 elements.
  constexpr int kParts = kManyRowsWarps * kGroups * kSums / kWarp;
  for (int part = share.rank * kManyRowsWarps + warp; part < kParts;
       part += f.ranks * kManyRowsWarps) {
    const int element = part * kWarp + lane;
    const int group = element / kSums % kGroups;
    if (group * kColumns >= f.input.rows) continue;
    const int tile_row = (first_tile + element / (kSums * kGroups)) * f.tile_rows;
    const TileRow row(f, tile_row, element % kSums / kColumns);
    const Element<T> y(f, row.or_none(), group * kColumns + element % kColumns);
    Sum whole = 0;
    if (f.ranks == 1) {
      whole = partials[element];
    } else {
      for (int other = 0; other < f.ranks; ++other) {
        const std::uint32_t word = word_of_block(partials + element, other);
        whole += reinterpret_cast<const Sum&>(word);
      }
    }
    y.template write<2 * kColumns>(f, static_cast<float>(whole), f.input.scales);
  }
  // No block's sums go before the others have read them.
  if (f.ranks > 1) cluster_barrier();
}

/// `f` has its rows, as many as kGroups have at most, packed and quantised where they are to be.
template <int kGroups, typename T, typename Stages>
void start_many_rows(SmallBatch<T> f, const Stages& weight, cudaStream_t stream) {
  using Rings = ManyRowsRing<Stages, kGroups>;
  constexpr int kMostRanks = 8;  // blocks of a cluster, on any GPU that has them
  static const bool clusters = has_clusters(many_rows<T, Stages, kGroups>);
  static const int room = 2 * device_attribute(cudaDevAttrMultiProcessorCount);
  f.tile();
  const int tiles = ceil_divide(f.rows, std::int64_t{kManyRowsWarps} * f.tile_rows);
  f.ranks = 1;
  while (clusters && f.ranks < std::min(kMostRanks, f.stages) && 2 * f.ranks * tiles <= room) {
    f.ranks *= 2;
  }
  f.rank_stages = ceil_divide(f.stages, f.ranks);
  start({"linear", static_cast<unsigned>(tiles * f.ranks), Rings::kThreads, stream,
         static_cast<std::size_t>(Stages::kTableBytes + Rings::kBytes), true, f.ranks},
        many_rows<T, Stages, kGroups>, f, weight);
}

}  // namespace vramfit::gpu
