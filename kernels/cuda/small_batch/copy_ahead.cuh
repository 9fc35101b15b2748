#pragma once

#include "kernels/cuda/small_batch/four_bit_stages.cuh"
#include "kernels/cuda/small_batch/product.cuh"

namespace vramfit::gpu {

/// How a warp runs ahead: in a ring of `kDepth` steps, of `kStages` stages each. `kOnce`: its bytes
/// leave L2 before others.
template <int kDepth_, int kStages_, bool kOnce_ = false>
struct Ring {
  static constexpr int kDepth = kDepth_;
  static constexpr int kStages = kStages_;
  static constexpr bool kOnce = kOnce_;
};

template <typename Stages>
constexpr int kStageBytes = kTileBytes + (Stages::kScaleWords ? 4 * kWarp : 0);
/// Of all warps' rings.
template <typename Stages, typename Ring>
constexpr int kRingBytes = Stages::kWarps* Ring::kDepth* Ring::kStages* kStageBytes<Stages>;

/// What keeps memory busy, in steps of 128 neighbouring bytes of each row; half of it, and what is
/// left where x takes most of the room.
template <typename Stages>
using Deep = Ring<64 / Stages::kWarps, 2>;
template <typename Stages>
using Half = Ring<64 / Stages::kWarps, 1>;
template <typename Stages>
using Shallow = Ring<Stages::kWarps == kFewWarps ? 5 : 3, 1>;

/// For one row. Where a byte takes many instructions no more need be under way, and what else is
/// read waits behind it.
template <typename Stages>
using OneRowRing = Ring<Stages::kScaleWords ? 2 : 64 / Stages::kWarps, 2, true>;

/// 16 bytes, wherever they lie, of which `count` are the row's.
inline __device__ __noinline__ void copy_bytes(std::uint8_t* to, const std::uint8_t* from,
                                               int count) {
  for (int i = 0; i < 16; ++i) to[i] = i < count ? from[i] : std::uint8_t{0};
}

/// What a warp copies ahead of what it multiplies, step by step and tile by tile: of each stage a
/// lane two rows' 16 bytes, and a word of scales. kPacked: rows are whole, aligned 16 bytes.
template <typename T, typename Stages, typename Ring, bool kPacked>
class Ahead {
 public:
  static constexpr int kStepBytes = Ring::kStages * kStageBytes<Stages>;
  static constexpr int kRing = Ring::kDepth * kStepBytes;  ///< a warp's bytes

  /// Begins to copy all steps of `ring` but the last.
  __device__ Ahead(const SmallBatch<T>& f, const Stages& weight, const Share& share,
                   std::uint8_t* ring)
      : f_(f),
        weight_(weight),
        share_(share),
        ring_(ring),
        to_(shared_address(ring) + place()),
        tile_(share.first_row),
        row_(f, tile_, Place().g),
        scale_row_(f, tile_, static_cast<int>(threadIdx.x) % kWarp / 2),
        first_stage_(share.first_stage + static_cast<int>(threadIdx.x) / kWarp * Ring::kStages) {
    enter_tile();
    for (int slot = 0; slot < kRing - kStepBytes; slot += kStepBytes) copy_step(slot);
  }

  /// Waits for the step at that offset in the ring, and begins to copy another over the one before.
  __device__ void wait_for_step(int slot) {
    wait_for_copies<Ring::kDepth - 2>();
    __syncwarp();
    copy_step((slot == 0 ? kRing : slot) - kStepBytes);
  }
  /// The offset of the step after.
  __device__ static int after(int slot) {
    return slot + kStepBytes == kRing ? 0 : slot + kStepBytes;
  }

 private:
  static constexpr int kStep = Stages::kWarps * Ring::kStages;

  /// Begins to copy the next step to that offset.
  __device__ void copy_step(int offset) {
    if (stage_ >= share_.end_stage) {
      tile_ += f_.step_rows;
      row_.go_on(f_);
      if constexpr (Stages::kScaleWords) scale_row_.go_on(f_);
      enter_tile();
    }
    if (there_) {
#pragma unroll
      for (int i = 0; i < Ring::kStages; ++i) copy_stage(i, offset + i * kStageBytes<Stages>);
    }
    stage_ += kStep;
    low_ += kStep * kRowBytes;
    commit_copies();
  }

  __device__ static int place() {
    const Place at;
    return at.chunk(at.t);
  }

  __device__ void enter_tile() {
    stage_ = first_stage_;
    there_ = tile_ < f_.rows && stage_ < share_.end_stage;
    const int low = row_.or_last();
    const Place at;
    low_ = weight_.codes + stage_ * kRowBytes + 16 * at.t +
           std::uint64_t{static_cast<unsigned>(low)} * static_cast<unsigned>(f_.row_bytes);
    to_high_ = (row_.or_last(f_.tile_rows / 2) - low) * f_.row_bytes;
    if constexpr (Stages::kScaleWords) {
      words_ = weight_.scale_words(static_cast<unsigned>(scale_row_.or_last() * weight_.blocks),
                                   threadIdx.x % 2);
    }
  }

  __device__ void copy_stage(int i, int offset) const {
    const Place at;
    const int left = f_.row_bytes - 16 * at.t - (stage_ + i) * kRowBytes;
    const std::uint8_t* low = low_ + i * kRowBytes;
    const std::uint8_t* high = low + to_high_;
    if constexpr (kPacked) {
      const auto copy = [left](unsigned to, const std::uint8_t* from) {
        if constexpr (Ring::kOnce) {
          copy_async_once(to, from, left > 0);
        } else {
          copy_async(to, from, left > 0);
        }
      };
      copy(to_ + offset, low);
      copy(to_ + offset + 8 * kRowBytes, high);
    } else {
      copy_bytes(ring_ + offset + place(), low, left);
      copy_bytes(ring_ + offset + place() + 8 * kRowBytes, high, left);
    }
    if constexpr (Stages::kScaleWords) {
      const int lane = static_cast<int>(threadIdx.x) % kWarp;
      copy_word_async(shared_address(ring_) + offset + kTileBytes + 4 * lane,
                      words_.of((stage_ + i) * Stages::kStageBlocks));
    }
  }

  const SmallBatch<T>& f_;
  const Stages& weight_;
  const Share& share_;
  std::uint8_t* ring_;
  unsigned to_;  ///< the lane's first bytes of the first stage in the ring
  int tile_;     ///< its first row
  TileRow row_;  ///< g; g + 8 is half a tile further
  TileRow scale_row_;
  const int first_stage_;  ///< of each tile
  int stage_ = 0;
  bool there_ = false;
  const std::uint8_t* low_ = nullptr;  ///< its bytes of row g in the next stage
  int to_high_ = 0;                    ///< from there to its bytes of row g + 8
  ScaleWords words_{};                 ///< lane 2r + i: the ith of row r
};

}  // namespace vramfit::gpu
