#pragma once

#include "kernels/cuda/small_batch/copy_ahead.cuh"
#include "kernels/cuda/small_batch/finish.cuh"

namespace vramfit::gpu {

/// x's pieces of a stage.
struct StagedRow {
  static constexpr int rows = 1;
  const std::uint8_t* first;  ///< a lane's 16 bytes of the first piece
  const int2* digit_sums;     ///< of fixed point

  /// The same for all columns: the sums of the others are not looked at.
  __device__ uint4 own(int piece) const {
    return *reinterpret_cast<const uint4*>(first + piece * kRowBytes);
  }
  __device__ uint4 of(int /*row*/) const { return own(0); }
};

/// Registers of a thread. Beside 512 of them are those of two blocks of attention to a short cache,
/// which begins so while the linear before it runs, and the linear after it while that does.
inline constexpr int kOneRowRegisters = 88;

/// As `small_batch`, see small_batch.cu, does many rows, this does one, of packed rows. A tile is
/// hardly more than a step of each warp, so that what surrounds its product is short: a warp leaves
/// its 16 sums and goes on, and each tile's are finished by another warp, which alone waits for the
/// rest.
template <typename T, typename Stages, typename Codes>
__global__ void __maxnreg__(kOneRowRegisters) one_row(const SmallBatch<T> f, Stages weight) {
  using Ring = Deep<Stages>;
  using Sum = typename Stages::Sums::Sum;
  constexpr int kWarps = Stages::kWarps;
  constexpr int kStepBytes = Ring::kStages * kStageBytes<Stages>;
  constexpr int kRing = Ring::kDepth * kStepBytes;
  __shared__ float x_scale[1];
  // Of as many tiles as warps: until the first's are written again, the warp that finishes it, and
  // with it all others, has gone on.
  __shared__ Sum partials[kWarps][kWarps][kTileRows];
  auto* table = dynamic_shared<std::uint8_t>();
  std::uint8_t* const row = table + Stages::kTableBytes;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  std::uint8_t* const ring = row + f.input.stride + warp * kRing;

  start_next_kernel();
  const Share share(f, 1);
  Ahead<T, Stages, Ring, true> ahead(f, weight, share, ring);
  for (int slot = 0; slot < kRing - kStepBytes; slot += kStepBytes) ahead.copy_step(slot);
  if constexpr (Stages::kTableBytes > 0) {
    weight.fill(reinterpret_cast<std::uint32_t*>(table));
  }
  prefetch_norm(f.input);
  prefetch_of_rows(f, share);
  wait_for_previous_kernels();
  if constexpr (kScalesRows<Stages, Codes>) {
    bring_rows<Stages, Codes, true>(f.input, row, x_scale);
  } else if (f.input.copied) {
    copy_rows<Stages>(f.input, 0, row, x_scale);
  } else {
    bring_rows<Stages, Codes, true>(f.input, row, x_scale);
  }

  const Place at;
  const TileRow low_row(f, at.g);
  const TileRow high_row(f, at.g + 8);
  const TileRow own_row(f, lane % kTileRows);
  int slot = 0;
  int turn = 0;
  for (int tile = share.first_tile; tile < f.tiles; tile += share.tile_step) {
    const bool finishes = warp == turn;
    typename Stages::Sums sums;
    Element<T> element;
    if (finishes) element = Element<T>(f, lane < kTileRows ? own_row.of(tile) : -1, 0);
    unsigned low_block = 0;
    unsigned high_block = 0;
    if constexpr (Stages::kScaleWords) {
      low_block = static_cast<unsigned>(low_row.nearest(tile) * weight.blocks);
      high_block = static_cast<unsigned>(high_row.nearest(tile) * weight.blocks);
    }
    for (int first = warp * Ring::kStages; first < f.stages; first += kWarps * Ring::kStages) {
      wait_for_copies<Ring::kDepth - 2>();
      __syncwarp();
      ahead.copy_step((slot == 0 ? kRing : slot) - kStepBytes);
#pragma unroll
      for (int i = 0; i < Ring::kStages; ++i) {
        const int stage = first + i;
        const std::uint8_t* codes = ring + slot + i * kStageBytes<Stages>;
        const std::uint8_t* words = codes + kTileBytes;
        if constexpr (Stages::kScaleWords) {
          words -= i % Stages::kScaleStages * kStageBytes<Stages>;
        }
        const std::uint8_t* sums_of_digits =
            row + f.stages * kStageInputBytes<Stages> + stage * kDigitSumsBytes;
        weight.multiply(sums,
                        WeightStage{codes, reinterpret_cast<const std::uint32_t*>(words), stage, i,
                                    low_block, high_block},
                        StagedRow{row + stage * kStageInputBytes<Stages> + 16 * at.t,
                                  reinterpret_cast<const int2*>(sums_of_digits)});
      }
      slot += kStepBytes;
      if (slot == kRing) slot = 0;
    }
    const RowSums<Sum> column = sums.first_column();
    if (at.t == 0) {
      partials[turn][warp][at.g] = column.low;
      partials[turn][warp][at.g + 8] = column.high;
    }
    __syncwarp();
    if (!finishes) {
      arrive_at_barrier(turn, kWarps * kWarp);
    } else {
      named_barrier(turn, kWarps * kWarp);
      Sum whole = 0;
#pragma unroll
      for (int i = 0; i < kWarps; i += 2) {
        whole += partials[turn][i + lane / kTileRows][lane % kTileRows];
      }
      whole += __shfl_xor_sync(kWholeWarp, whole, kTileRows);
      element.template write<2>(f, static_cast<float>(whole),
                                kScalesRows<Stages, Codes> ? x_scale : nullptr);
    }
    turn = turn + 1 == kWarps ? 0 : turn + 1;
  }
}

}  // namespace vramfit::gpu
