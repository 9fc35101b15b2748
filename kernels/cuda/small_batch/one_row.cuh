#pragma once

#include "kernels/cuda/small_batch/copy_ahead.cuh"
#include "kernels/cuda/small_batch/digits.cuh"
#include "kernels/cuda/small_batch/finish.cuh"
#include "kernels/cuda/small_batch/held_row.cuh"

namespace vramfit::gpu {

/// One row's place in shared memory, as `Stages` multiply it.
template <typename Stages>
class StagedRow {
 public:
  /// Of that many slots, whole stages.
  __host__ __device__ static constexpr int bytes(int slots) { return 16 * slots; }

  __device__ StagedRow(std::uint8_t* row, int /*slots*/) : row_(row) {}

  /// x's pieces of a stage.
  struct Stage {
    const std::uint8_t* first;  ///< a lane's 16 bytes of the first

    /// The same for all columns: the sums of the others are not looked at.
    __device__ uint4 piece(int index) const {
      return *reinterpret_cast<const uint4*>(first + index * kRowBytes);
    }
  };
  __device__ Stage stage(int index) const {
    return {row_ + index * kStageSlots<Stages> * 16 + 16 * Place().t};
  }

 private:
  std::uint8_t* row_;
};

template <typename T>
class StagedRow<DigitStages<T>> : public DigitRow {
  using DigitRow::DigitRow;
};

/// Registers of a thread: so many that one block of attention, which comes next, fits beside.
template <typename Stages>
inline constexpr int kOneRowRegisters = Stages::kWarps == kFewWarps ? 168 : 96;

/// As `small_batch`, see small_batch.cu, does many rows, this does one, which is held, with a
/// packed weight. A tile is few steps of each warp, in 4 bits one, so that what surrounds its
/// product is short: a warp leaves its 16 sums and goes on, and each tile's are finished by another
/// warp, which alone waits for the rest. Codes: what the row is quantised to; void: it is not.
/// `kHeld`: slots of it that a thread has.
template <typename T, typename Stages, typename Codes, int kHeld>
__global__ void __maxnreg__(kOneRowRegisters<Stages>)
    one_row(const SmallBatch<T> f, Stages weight) {
  using Ring = OneRowRing<Stages>;
  using AheadOf = Ahead<T, Stages, Ring, true>;
  using Sum = SumOf<Stages>;
  constexpr int kWarps = Stages::kWarps;
  // Of as many tiles as warps: until the first's are written again, the warp that finishes it, and
  // with it all others, has gone on.
  __shared__ Sum partials[kWarps][kWarps][kTileRows];
  __shared__ float reduced[3][kMaxWarps];
  auto* table = dynamic_shared<std::uint8_t>();
  std::uint8_t* const row = table + Stages::kTableBytes;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  std::uint8_t* const ring = row + f.input.stride + warp * AheadOf::kRing;

  start_next_kernel();
  // What is read but once comes before the ring's bytes, behind which it would wait.
  HeldRow<Stages, Codes, kHeld, T> input(f.input);
  const Share share(f, 1);
  prefetch_of_rows(f, share);
  AheadOf ahead(f, weight, share, ring);
  if constexpr (Stages::kTableBytes > 0) {
    weight.fill(reinterpret_cast<std::uint32_t*>(table));
  }
  const StagedRow<Stages> x(row, f.input.slots);
  const Place at;
  TileRow own_row(f, share.first_row, lane);
  TileRow low_row(f, share.first_row, at.g);
  wait_for_previous_kernels();
  const float x_scale = input.read(f.input.x, reduced);
  input.store(row, f.input.slots);
  __syncthreads();

  int slot = 0;
  int turn = 0;
  for (int tile = share.first_row; tile < f.rows; tile += f.step_rows) {
    const bool finishes = warp == turn;
    typename Stages::Sums sums;
    Element<T> element;
    if (finishes && lane < kTileRows) element = Element<T>(f, own_row.or_none(), 0);
    for (int first = warp * Ring::kStages; first < f.stages; first += kWarps * Ring::kStages) {
      ahead.wait_for_step(slot);
#pragma unroll
      for (int i = 0; i < Ring::kStages; ++i) {
        const int stage = first + i;
        const std::uint8_t* codes = ring + slot + i * kStageBytes<Stages>;
        const auto* words = reinterpret_cast<const uint2*>(codes + kTileBytes);
        weight.multiply(
            sums, WeightStage{codes, words, stage, low_row.row, low_row.row + f.tile_rows / 2},
            x.stage(stage));
      }
      slot = AheadOf::after(slot);
    }
    const Sum low = sums.of_first(false);
    const Sum high = sums.of_first(true);
    if (at.t == 0) {
      partials[turn][warp][at.g] = low;
      partials[turn][warp][at.g + 8] = high;
    }
    __syncwarp();
    if (!finishes) {
      arrive_at_barrier(turn, kWarps * kWarp);
    } else {
      named_barrier(turn, kWarps * kWarp);
      Sum y = 0;
#pragma unroll
      for (int i = 0; i < kWarps; i += 2) {
        y += partials[turn][i + lane / kTileRows][lane % kTileRows];
      }
      y += __shfl_xor_sync(kWholeWarp, y, kTileRows);
      element.template write<2>(f, static_cast<float>(y),
                                std::is_void_v<Codes> ? nullptr : &x_scale);
    }
    turn = turn + 1 == kWarps ? 0 : turn + 1;
    own_row.go_on(f);
    low_row.go_on(f);
  }
}

}  // namespace vramfit::gpu
