#pragma once

#include "kernels/cuda/persistent/program.cuh"
#include "kernels/cuda/small_batch/finish.cuh"

namespace vramfit::gpu {

/// x's pieces of a stage.
struct StagedRow {
  const std::uint8_t* first;  ///< a lane's 16 bytes of the first piece

  /// The same for all columns: the sums of the others are not looked at.
  __device__ uint4 own(int piece) const {
    return *reinterpret_cast<const uint4*>(first + piece * kRowBytes);
  }
};

/// Whether one row's product wants the sum of the row's elements in each stage.
template <typename Stages>
inline constexpr bool kSumsStages = requires(const Stages& s, typename Stages::Sums& sums,
                                             const WeightStage& stage, const StagedRow& x) {
  s.multiply(sums, stage, x, 0.0F);
};

/// A block multiplies its tiles of weights with one row. A tile is hardly more than a step of each
/// warp, so that what surrounds its product is short: a warp leaves its 16 sums and goes on. Warps
/// take turns in finishing a tile, each once others have most likely left theirs.
template <typename Stages>
class RowMultiplier {
  static constexpr int kWarps = Stages::kWarps;
  static constexpr unsigned kSlots = 8;  ///< tiles that warps may be apart
  static constexpr unsigned kLag = 2;    ///< tiles that a warp goes on before it finishes one
  using Sum = std::remove_cvref_t<decltype(std::declval<typename Stages::Sums>()[0])>;

 public:
  /// What warps leave each other.
  struct Shared {
    Sum sums[kSlots][kWarps][kTileRows];
    CountedBarrier full[kSlots];
    CountedBarrier empty[kSlots];

    /// By all threads, before a barrier of the block.
    __device__ void begin() {
      if (threadIdx.x >= kSlots) return;
      full[threadIdx.x].begin(kWarps);
      empty[threadIdx.x].begin(1);
    }
  };
  /// Where a warp is.
  struct Position {
    int slot;        ///< of the ring
    unsigned tiles;  ///< so far
  };

  /// `ring`: the warp's.
  __device__ RowMultiplier(const std::uint8_t* ring, Shared& shared, const Position& position)
      : ring_(ring), shared_(shared), slot_(position.slot), tiles_(position.tiles) {}

  __device__ Position position() const { return {slot_, tiles_}; }

  /// `row`: x as the weight's stages want it, `x_scale`: null where it has none, `x_sums`: of its
  /// stages. `ahead` has begun to copy the block's share of the weight.
  template <typename Ahead, typename T>
  __device__ void multiply(const SmallBatch<T>& f, const Stages& weight, const Share& share,
                           const std::uint8_t* row, const float* x_scale, const float* x_sums,
                           Ahead& ahead) {
    constexpr int kStep = Ahead::kStages;
    const Place at;
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const TileRow low_row(f, at.g);
    const TileRow high_row(f, at.g + 8);
    bool finishes = false;
    unsigned own = 0;  // the tile that it finishes
    Element<T> element;
    const auto finish = [&] {
      finishes = false;
      const float y = whole(own);
      element.template write<2>(f, y, x_scale);
    };
    for (int tile = share.first_tile; tile < f.tiles; tile += share.tile_step) {
      if (tiles_ % kWarps == static_cast<unsigned>(warp)) {
        finishes = true;
        own = tiles_;
        element = Element<T>(f, lane < kTileRows ? TileRow(f, lane).of(tile) : -1, 0);
      }
      typename Stages::Sums sums;
      unsigned low_block = 0;
      unsigned high_block = 0;
      if constexpr (Stages::kScaleWords) {
        low_block = static_cast<unsigned>(low_row.nearest(tile) * weight.blocks);
        high_block = static_cast<unsigned>(high_row.nearest(tile) * weight.blocks);
      }
      for (int first = warp * kStep; first < share.end_stage; first += kWarps * kStep) {
        ahead.wait_for_step(slot_);
#pragma unroll
        for (int i = 0; i < kStep; ++i) {
          const int stage = first + i;
          const std::uint8_t* codes = ring_ + slot_ + i * kStageBytes<Stages>;
          const auto* words = reinterpret_cast<const std::uint32_t*>(codes + kTileBytes);
          const WeightStage there{codes, words, stage, low_block, high_block};
          const StagedRow x{row + stage * kStageSlots<Stages> * 16 + 16 * at.t};
          if constexpr (kSumsStages<Stages>) {
            weight.multiply(sums, there, x, x_sums[stage]);
          } else {
            weight.multiply(sums, there, x);
          }
        }
        slot_ = Ahead::after(slot_);
      }
      leave(sums);
      if (finishes && tiles_ - own >= kLag) finish();
      ++tiles_;
    }
    if (finishes) finish();
  }

 private:
  static __device__ unsigned parity(unsigned tile) { return tile / kSlots % 2; }

  /// The warp's sums of the present tile.
  __device__ void leave(const typename Stages::Sums& sums) {
    const Place at;
    const unsigned slot = tiles_ % kSlots;
    shared_.empty[slot].wait(parity(tiles_) ^ 1);
    if (at.t == 0) {
      Sum* to = shared_.sums[slot][threadIdx.x / kWarp];
      to[at.g] = sums[0];
      to[at.g + 8] = sums[2];
    }
    __syncwarp();
    if (threadIdx.x % kWarp == 0) shared_.full[slot].arrive();
  }

  /// All warps' of that tile, of its row lane % 16.
  __device__ float whole(unsigned tile) {
    const unsigned lane = threadIdx.x % kWarp;
    const unsigned slot = tile % kSlots;
    shared_.full[slot].wait(parity(tile));
    Sum sum = 0;
#pragma unroll
    for (int i = 0; i < kWarps; i += 2) {
      sum += shared_.sums[slot][i + lane / kTileRows][lane % kTileRows];
    }
    __syncwarp();
    if (lane == 0) shared_.empty[slot].arrive();
    return static_cast<float>(sum + __shfl_xor_sync(kWholeWarp, sum, kTileRows));
  }

  const std::uint8_t* ring_;
  Shared& shared_;
  int slot_;
  unsigned tiles_;
};

}  // namespace vramfit::gpu
