#pragma once

#include "kernels/cuda/base/copy_engine.cuh"
#include "kernels/cuda/small_batch/product.cuh"

namespace vramfit::gpu {

/// How a warp runs ahead: in a ring of `kDepth` steps, of `kStages` stages each.
template <int kDepth_, int kStages_>
struct Ring {
  static constexpr int kDepth = kDepth_;
  static constexpr int kStages = kStages_;
};

/// Of a stage's words of scales.
template <typename Stages>
constexpr int kStageWordBytes = Stages::kScaleWords ? 4 * kWarp : 0;
template <typename Stages>
constexpr int kStageBytes = kTileBytes + kStageWordBytes<Stages>;
/// Of all warps' rings: their codes, which begin where boxes may, then their words of scales.
template <typename Stages, typename Ring>
constexpr int kRingBytes = Stages::kWarps* Ring::kDepth* Ring::kStages* kStageBytes<Stages>;

/// What keeps memory busy, in steps of 128 neighbouring bytes of each row, and what is left where x
/// takes most of the room. In a deeper ring more bytes are under way than memory needs, and all
/// that is read beside them waits for them.
template <typename Stages>
using Deep = Ring<32 / Stages::kWarps, 2>;
template <typename Stages>
using Shallow = Ring<Stages::kWarps == kFewWarps ? 5 : 3, 1>;

/// Whether the copy engine brings steps, a box each.
template <typename Ring, bool kPacked>
constexpr bool kInBoxes = kHasCopyEngine&& kPacked&& Ring::kStages* kRowBytes == kSwizzledBytes;

/// The boxes of a weight's tiles: of what is gated, gates are a part and their partners another.
template <typename T>
CUtensorMap tile_boxes(const SmallBatch<T>& f, const std::uint8_t* codes) {
  static const bool there = device_attribute(cudaDevAttrComputeCapabilityMajor) >= 9;
  if (!there || !f.packed) return {};
  const int parts = f.gated ? 2 : 1;
  return boxes_of(codes, parts, f.out / parts, f.row_bytes, kTileRows / parts);
}

/// 16 bytes, wherever they lie, of which `count` are the row's.
inline __device__ __noinline__ void copy_bytes(std::uint8_t* to, const std::uint8_t* from,
                                               int count) {
  for (int i = 0; i < 16; ++i) to[i] = i < count ? from[i] : std::uint8_t{0};
}

/// What a warp copies ahead of what it multiplies, step by step and tile by tile: a step's codes in
/// boxes, or of each stage a lane two rows' 16 bytes; and of each stage a lane a word of scales.
/// kPacked: rows are whole, aligned 16 bytes.
template <typename T, typename Stages, typename Ring, bool kPacked>
class Ahead {
  static constexpr bool kBoxes = kInBoxes<Ring, kPacked>;
  static constexpr int kStepBytes = Ring::kStages * kTileBytes;
  static constexpr int kStepWords = Ring::kStages * kStageWordBytes<Stages> / 4;

 public:
  /// When the steps of each warp's ring are there.
  using Barriers = std::uint64_t[kBoxes ? Stages::kWarps : 1][kBoxes ? Ring::kDepth : 1];

  /// Begins to fill the warp's part of `rings`.
  __device__ Ahead(const SmallBatch<T>& f, const Stages& weight, const CUtensorMap& boxes,
                   const Share& share, std::uint8_t* rings, Barriers& barriers)
      : f_(f),
        weight_(weight),
        boxes_(boxes),
        share_(share),
        codes_(rings + warp() * Ring::kDepth * kStepBytes),
        words_(
            reinterpret_cast<std::uint32_t*>(rings + Stages::kWarps * Ring::kDepth * kStepBytes) +
            warp() * Ring::kDepth * kStepWords),
        there_(barriers[kBoxes ? warp() : 0]),
        low_row_(f, Place().g),
        high_row_(f, Place().g + 8),
        first_stage_(share.first_stage + warp() * Ring::kStages),
        tile_(share.first_tile) {
    if constexpr (kBoxes) {
      if (lane() == 0) {
        for (int slot = 0; slot < Ring::kDepth; ++slot) make_barrier(there_[slot], 1);
        fence_barriers();
      }
      __syncwarp();
    }
    enter_tile();
#pragma unroll 1
    for (slot_ = 0; slot_ < Ring::kDepth; ++slot_) copy_step();
    slot_ = 0;
  }

  /// The step that comes next is there until `advance`.
  __device__ void wait_for_step() {
    if constexpr (kBoxes) wait(there_[slot_], phase_);
    if constexpr (!kBoxes || Stages::kScaleWords) {
      wait_for_copies<Ring::kDepth - 1>();
      __syncwarp();
    }
  }
  __device__ const std::uint8_t* codes() const { return codes_ + slot_ * kStepBytes; }
  __device__ const std::uint32_t* words(int stage) const {
    return words_ + slot_ * kStepWords + stage * kStageWordBytes<Stages> / 4;
  }
  /// Of the row whose words of scales the lane copies, the first block in the weight.
  __device__ static unsigned first_block(const SmallBatch<T>& f, const Stages& weight, int tile) {
    if constexpr (Stages::kScaleWords) {
      return static_cast<unsigned>(TileRow(f, lane() / 2).nearest(tile) * weight.blocks);
    } else {
      return 0;
    }
  }
  /// Begins to copy another step over the one that was there.
  __device__ void advance() {
    __syncwarp();
    copy_step();
    if (++slot_ < Ring::kDepth) return;
    slot_ = 0;
    phase_ ^= 1;
  }

 private:
  static constexpr int kTurn = Stages::kWarps * Ring::kStages;  ///< stages of all warps' steps

  /// Known by the compiler to be one for all lanes.
  __device__ static int warp() {
    return __shfl_sync(kWholeWarp, static_cast<int>(threadIdx.x) / kWarp, 0);
  }
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % kWarp; }

  /// Begins to copy the next step to the slot.
  __device__ void copy_step() {
    if (stage_ >= share_.end_stage) {
      tile_ += share_.tile_step;
      enter_tile();
    }
    if (in_tile_) {
      if constexpr (kBoxes) {
        if (lane() == 0) copy_box_of_step();
      }
#pragma unroll
      for (int i = 0; i < Ring::kStages; ++i) {
        if constexpr (!kBoxes) copy_codes(i);
        if constexpr (Stages::kScaleWords) {
          copy_word_async(shared_address(words(i) + lane()),
                          weight_.scale_word(first_block_, stage_ + i, lane() % 2));
        }
      }
    }
    stage_ += kTurn;
    if constexpr (!kBoxes || Stages::kScaleWords) commit_copies();
  }

  __device__ void enter_tile() {
    stage_ = first_stage_;
    in_tile_ = tile_ < f_.tiles && stage_ < share_.end_stage;
    if constexpr (!kBoxes) {
      low_ = weight_.codes + std::int64_t{low_row_.nearest(tile_)} * f_.row_bytes;
      high_ = weight_.codes + std::int64_t{high_row_.nearest(tile_)} * f_.row_bytes;
    }
    first_block_ = first_block(f_, weight_, tile_);
  }

  __device__ void copy_box_of_step() {
    expect_bytes(there_[slot_], kStepBytes);
    copy_box_once(codes_ + slot_ * kStepBytes, boxes_, stage_ * kRowBytes, tile_ * low_row_.step,
                  there_[slot_]);
  }

  __device__ void copy_codes(int i) const {
    using Layout = StepLayout<Ring::kStages>;
    const Place at;
    const int byte = (stage_ + i) * kRowBytes + 16 * at.t;
    const int left = f_.row_bytes - byte;
    std::uint8_t* to = codes_ + slot_ * kStepBytes + Layout::place(i, at.t);
    if constexpr (kPacked) {
      copy_async(to, low_ + byte, left > 0);
      copy_async(to + Layout::kHigh, high_ + byte, left > 0);
    } else {
      copy_bytes(to, low_ + byte, left);
      copy_bytes(to + Layout::kHigh, high_ + byte, left);
    }
  }

  const SmallBatch<T>& f_;
  const Stages& weight_;
  const CUtensorMap& boxes_;
  const Share& share_;
  std::uint8_t* codes_;
  std::uint32_t* words_;
  std::uint64_t* there_;
  const TileRow low_row_;
  const TileRow high_row_;
  const int first_stage_;  ///< of each tile
  int tile_;
  int stage_ = 0;
  int slot_ = 0;
  unsigned phase_ = 0;
  bool in_tile_ = false;
  const std::uint8_t* low_ = nullptr;  ///< row g of the tile
  const std::uint8_t* high_ = nullptr;
  unsigned first_block_ = 0;
};

}  // namespace vramfit::gpu
