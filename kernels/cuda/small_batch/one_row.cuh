#pragma once

#include "kernels/cuda/small_batch/copy_ahead.cuh"
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

/// Registers of a thread. Beside 512 of them the kernel that comes next has room to begin.
inline constexpr int kOneRowRegisters = 88;

/// As `small_batch`, see small_batch.cu, does many rows, this does one, of packed rows, with a
/// weight whose values are looked up: instructions take longer than its bytes. A tile is hardly
/// more than a step of each warp, so that what surrounds its product is short: a warp leaves its 16
/// sums and goes on, and each tile's are finished by another warp, which alone waits for the rest.
template <typename T, typename Stages>
__global__ void __maxnreg__(kOneRowRegisters) one_row(const SmallBatch<T> f, Stages weight) {
  using Ring = Deep<Stages>;
  using AheadOf = Ahead<T, Stages, Ring, true>;
  constexpr int kWarps = Stages::kWarps;
  // Of as many tiles as warps: until the first's are written again, the warp that finishes it, and
  // with it all others, has gone on.
  __shared__ float partials[kWarps][kWarps][kTileRows];
  auto* table = dynamic_shared<std::uint8_t>();
  std::uint8_t* const row = table + Stages::kTableBytes;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  std::uint8_t* const ring = row + f.input.stride + warp * AheadOf::kRing;

  start_next_kernel();
  const Share share(f, 1);
  AheadOf ahead(f, weight, share, ring);
  weight.fill(reinterpret_cast<std::uint32_t*>(table));
  prefetch_norm(f.input);
  prefetch_of_rows(f, share);
  wait_for_previous_kernels();
  if (f.input.copied) {
    copy_rows<Stages>(f.input, 0, row, nullptr);
  } else {
    bring_rows<Stages, void, true>(f.input, row, nullptr);
  }

  const Place at;
  const TileRow own_row(f, lane % kTileRows);
  int slot = 0;
  int turn = 0;
  for (int tile = share.first_tile; tile < f.tiles; tile += share.tile_step) {
    const bool finishes = warp == turn;
    typename Stages::Sums sums;
    Element<T> element;
    if (finishes) element = Element<T>(f, lane < kTileRows ? own_row.of(tile) : -1, 0);
    for (int first = warp * Ring::kStages; first < f.stages; first += kWarps * Ring::kStages) {
      ahead.wait_for_step(slot);
#pragma unroll
      for (int i = 0; i < Ring::kStages; ++i) {
        const int stage = first + i;
        const std::uint8_t* codes = ring + slot + i * kStageBytes<Stages>;
        const auto* words = reinterpret_cast<const std::uint32_t*>(codes + kTileBytes);
        weight.multiply(sums, WeightStage{codes, words, stage, 0, 0},
                        StagedRow{row + stage * kStageSlots<Stages> * 16 + 16 * at.t});
      }
      slot = AheadOf::after(slot);
    }
    if (at.t == 0) {
      partials[turn][warp][at.g] = sums[0];
      partials[turn][warp][at.g + 8] = sums[2];
    }
    __syncwarp();
    if (!finishes) {
      arrive_at_barrier(turn, kWarps * kWarp);
    } else {
      named_barrier(turn, kWarps * kWarp);
      float y = 0;
#pragma unroll
      for (int i = 0; i < kWarps; i += 2) {
        y += partials[turn][i + lane / kTileRows][lane % kTileRows];
      }
      y += __shfl_xor_sync(kWholeWarp, y, kTileRows);
      element.template write<2>(f, y, nullptr);
    }
    turn = turn + 1 == kWarps ? 0 : turn + 1;
  }
}

}  // namespace vramfit::gpu
