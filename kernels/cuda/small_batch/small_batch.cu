#include <cuda_runtime.h>

#include "kernels/cuda/base/cluster.cuh"
#include "kernels/cuda/small_batch/arguments.cuh"
#include "kernels/cuda/small_batch/copy_ahead.cuh"
#include "kernels/cuda/small_batch/encode_rows.cuh"
#include "kernels/cuda/small_batch/finish.cuh"
#include "kernels/cuda/small_batch/many_rows.h"
#include "kernels/cuda/small_batch/one_row.cuh"
#include "kernels/cuda/small_batch/small_batch.h"
#include "kernels/cuda/small_batch/stages_of.cuh"

// Which kernel multiplies, and the one of 2 to 8 rows: blocks stay for the whole product, one on
// each multiprocessor. A block takes a tile of 16 rows of the weight after the other, or of
// clusters of blocks each has its part of the rows' columns; its warps take turns at the tile's
// stages, each with a ring of its own that runs ahead, from tile to tile, and begins to fill before
// the kernel's inputs are there. One row has a kernel of its own, see one_row.cuh, and on sm_90 so
// have 9 to 64 but of fp8, see many_rows.cuh: elsewhere as many go at a time as there is room for.

namespace vramfit {
namespace {

using namespace gpu;

/// x's pieces of a stage.
struct StagedRows {
  const std::uint8_t* first;  ///< a lane's 16 bytes of the first row's first piece
  int stride;
  int rows;

  /// Of the row that the lane has a column of; where there is none, of another: its sums are not
  /// looked at.
  __device__ uint4 piece(int index) const {
    return *reinterpret_cast<const uint4*>(first + min(Place().g, rows - 1) * stride +
                                           index * kRowBytes);
  }
  __device__ uint4 of(int row) const {
    return *reinterpret_cast<const uint4*>(first + row * stride);
  }
};

/// Codes: what rows are quantised to; void: they are not.
template <typename T, typename Stages, typename Codes, typename Ring, bool kPacked>
__global__ void __launch_bounds__(Stages::kWarps* kWarp, 1)
    small_batch(const SmallBatch<T> f, Stages weight) {
  using AheadOf = Ahead<T, Stages, Ring, kPacked>;
  constexpr int kWarps = Stages::kWarps;
  constexpr int kPieceBytes = Stages::kElements * static_cast<int>(sizeof(typename Stages::Input));
  using Sum = SumOf<Stages>;
  __shared__ float x_scales[kColumns];
  __shared__ Sum partials[2][kWarps * kSums];
  auto* table = dynamic_shared<std::uint8_t>();
  std::uint8_t* rows = table + Stages::kTableBytes;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  std::uint8_t* const ring = rows + f.input.rows * f.input.stride + warp * AheadOf::kRing;

  start_next_kernel();
  const Share share(f, f.ranks);
  AheadOf ahead(f, weight, share, ring);
  if constexpr (Stages::kTableBytes > 0) {
    weight.fill(reinterpret_cast<std::uint32_t*>(table));
  }
  prefetch_norm(f.input);
  prefetch_of_rows(f, share);
  wait_for_previous_kernels();
  if (f.input.copied) {
    copy_rows<Stages>(f.input, share.first_stage * kStageSlots<Stages>, rows, x_scales);
  } else {
    bring_rows<Stages, Codes, kPacked>(f.input, rows, x_scales);
  }

  const Place at;
  TileRow own_row(f, share.first_row, static_cast<int>(threadIdx.x) / kColumns);
  TileRow low_row(f, share.first_row, at.g);
  int slot = 0;
  int buffer = 0;
  for (int tile = share.first_row; tile < f.rows; tile += f.step_rows) {
    typename Stages::Sums sums;
    const Finish<kWarps, T> finish(f, share, own_row);
    for (int first = share.first_stage + warp * Ring::kStages; first < share.end_stage;
         first += kWarps * Ring::kStages) {
      ahead.wait_for_step(slot);
#pragma unroll
      for (int i = 0; i < Ring::kStages; ++i) {
        const int stage = first + i;
        const std::uint8_t* codes = ring + slot + i * kStageBytes<Stages>;
        const auto* words = reinterpret_cast<const uint2*>(codes + kTileBytes);
        weight.multiply(
            sums, WeightStage{codes, words, stage, low_row.row, low_row.row + f.tile_rows / 2},
            StagedRows{rows + (stage - share.first_stage) * kPieceBytes + 16 * at.t, f.input.stride,
                       f.input.rows});
      }
      slot = AheadOf::after(slot);
    }
    sums.store(partials[buffer] + warp * kSums);
    if (f.ranks == 1) {
      __syncthreads();
    } else {
      cluster_barrier();
    }
    if (warp < kSums / kWarp) {
      finish.write(partials[buffer], std::is_void_v<Codes> ? nullptr : x_scales);
    }
    buffer ^= 1;
    own_row.go_on(f);
    low_row.go_on(f);
  }
  // No block's sums go before the others have read them.
  if (f.ranks > 1) cluster_barrier();
}

template <typename T>
T* advanced(T* pointer, std::int64_t elements) {
  return pointer == nullptr ? nullptr : pointer + elements;
}

/// Divides the rows among at most so many blocks, or clusters; returns their number.
template <typename T>
int divide_rows(SmallBatch<T>& f, int most) {
  f.tile();
  const int blocks = std::min(ceil_divide(f.rows, f.tile_rows), most);
  f.step_rows = blocks * f.tile_rows;
  return blocks;
}

/// Starts the kernel for rows that there is room for beside the ring.
template <typename Codes, typename Ring, bool kPacked, typename T, typename Stages>
void start_kernel(const SmallBatch<T>& f, const Stages& weight, int blocks, cudaStream_t stream) {
  const int shared = Stages::kTableBytes + f.input.rows * f.input.stride + kRingBytes<Stages, Ring>;
  start({"linear", static_cast<unsigned>(blocks), Stages::kWarps * kWarp, stream,
         static_cast<std::size_t>(shared), true, f.ranks},
        small_batch<T, Stages, Codes, Ring, kPacked>, f, weight);
}

/// Blocks of a cluster that share a tile: two where a whole row of x leaves too little room for the
/// ring.
template <typename Stages, typename Codes, typename T>
int ranks_of(const SmallBatch<T>& f, int row_bytes, int rows, int room) {
  static const bool clusters = has_clusters(small_batch<T, Stages, Codes, Half<Stages>, true>);
  const bool fits = std::min(rows, kColumns) * row_bytes + kRingBytes<Stages, Half<Stages>> <= room;
  return clusters && f.input.copied && !fits ? 2 : 1;
}

/// As many rows at a time as shared memory has room for.
template <typename T, typename Stages, typename Codes>
void launch_stages(SmallBatch<T> f, const Stages& weight, std::int64_t rows,
                   const Tensor& workspace, cudaStream_t stream) {
  constexpr int kStatic = 2 * Stages::kWarps * kSums * 4 + 1024;
  constexpr int kStageRowBytes = 16 * kStageSlots<Stages>;
  static const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  static const int most =
      device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - kStatic - Stages::kTableBytes;
  f.stages = ceil_divide(f.row_bytes, kRowBytes);
  f.input.all_slots = f.stages * kStageSlots<Stages>;
  if constexpr (std::is_void_v<Codes>) {
    f.input.copied =
        f.packed && f.input.norm_weight == nullptr && std::is_same_v<T, typename Stages::Input>;
  } else {
    // One row the blocks do as fast themselves.
    f.input.copied = f.packed && rows > 1 && f.input.all_slots <= kMostEncoded * kEncodingThreads;
    if (f.input.copied) encode<Stages, Codes>(f, rows, workspace, stream);
  }
  f.ranks = ranks_of<Stages, Codes>(f, f.stages * kStageRowBytes, static_cast<int>(rows), most);
  // Steps are whole, also at the end of a row.
  f.rank_stages = ceil_divide(ceil_divide(f.stages, f.ranks), 2) * 2;
  const int row_bytes = f.rank_stages * kStageRowBytes;
  f.input.slots = row_bytes / 16;
  // Neighbouring rows' pieces are in different banks.
  f.input.stride = row_bytes % 128 == 0 ? row_bytes + 64 : row_bytes;
  const int at_once =
      std::min((most - kRingBytes<Stages, Shallow<Stages>>) / f.input.stride, kColumns);
  if (at_once <= 0) {
    throw BadInput("linear: a row of " + std::to_string(f.input.in) +
                   " elements is too long for this GPU's shared memory");
  }
  const int blocks = divide_rows(f, multiprocessors / f.ranks) * f.ranks;
  for (std::int64_t first = 0; first < rows; first += at_once) {
    SmallBatch<T> part = f;
    part.input.rows = static_cast<int>(std::min<std::int64_t>(at_once, rows - first));
    part.input.x += first * f.input.in;
    part.input.encoded = advanced(f.input.encoded, first * f.input.all_slots * 16);
    part.input.scales = advanced(f.input.scales, first);
    part.residual = advanced(f.residual, first * f.out);
    part.y += first * f.out;
    part.act = advanced(f.act, first * (f.gated ? f.out / 2 : f.out));
    const int room = most - part.input.rows * f.input.stride;
    if (!f.packed) {
      start_kernel<Codes, Shallow<Stages>, false>(part, weight, blocks, stream);
    } else if (kRingBytes<Stages, Deep<Stages>> <= room) {
      start_kernel<Codes, Deep<Stages>, true>(part, weight, blocks, stream);
    } else if (kRingBytes<Stages, Half<Stages>> <= room) {
      start_kernel<Codes, Half<Stages>, true>(part, weight, blocks, stream);
    } else {
      start_kernel<Codes, Shallow<Stages>, true>(part, weight, blocks, stream);
    }
  }
}

/// Returns false, and starts nothing, where the row or the weight is not as `one_row` wants it:
/// aligned, and of so few slots that the block's threads hold it.
template <typename T, typename Stages, typename Codes>
bool launch_one_row(SmallBatch<T> f, const Stages& weight, cudaStream_t stream) {
  constexpr int kThreads = Stages::kWarps * kWarp;
  constexpr int kStatic = Stages::kWarps * kThreads / 2 * 4 + 1024;  // one_row's own shared memory
  static const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  static const int most = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - kStatic;
  f.stages = ceil_divide(f.row_bytes, kRowBytes);
  // Steps are whole, also at the end of a row.
  f.rank_stages = ceil_divide(f.stages, 2) * 2;
  f.ranks = 1;
  f.input.rows = 1;
  f.input.all_slots = f.stages * kStageSlots<Stages>;
  f.input.slots = f.rank_stages * kStageSlots<Stages>;
  f.input.stride = StagedRow<Stages>::bytes(f.input.slots);
  const int shared = Stages::kTableBytes + f.input.stride + kRingBytes<Stages, OneRowRing<Stages>>;
  if (!f.packed || shared > most) return false;
  const auto blocks = static_cast<unsigned>(divide_rows(f, multiprocessors));
  const auto start_with = [&](auto held) {
    start({"linear", blocks, kThreads, stream, static_cast<std::size_t>(shared), true},
          one_row<T, Stages, Codes, decltype(held)::value>, f, weight);
    return true;
  };
  // As few as hold the row: every warp runs the code of each.
  const int held = ceil_divide(f.input.slots, kThreads);
  if (held == 1) return start_with(Constant<1>{});
  if (held == 2) return start_with(Constant<2>{});
  if (held == 3) return start_with(Constant<3>{});
  if (held == 4) return start_with(Constant<4>{});
  if constexpr (std::is_same_v<Stages, Fp8RowStages>) {
    // Its slots are of half as many elements as those of int8.
    if (held <= 6) return start_with(Constant<6>{});
    if (held <= 8) return start_with(Constant<8>{});
  }
  return false;
}

/// As a weight is multiplied with one row.
template <typename T, typename Codes, typename Stages>
bool launch_one_row_of(const SmallBatch<T>& f, const Stages& stages, cudaStream_t stream) {
  if constexpr (std::is_same_v<Stages, OffsetStages<T>>) {
    return launch_one_row<T, DigitStages<T>, Digits>(f, DigitStages<T>(stages), stream);
  } else if constexpr (std::is_same_v<Stages, Fp8Stages>) {
    return launch_one_row<T, Fp8RowStages, Codes>(f, Fp8RowStages(stages), stream);
  } else if constexpr (std::is_same_v<typename Stages::Input, float>) {
    return false;
  } else {
    return launch_one_row<T, Stages, Codes>(f, stages, stream);
  }
}

template <typename T, typename Stages, typename Codes>
void launch_if_read(const SmallBatch<T>& f, const Stages& stages, std::int64_t rows,
                    const Tensor& workspace, cudaStream_t stream) {
  if constexpr (std::is_same_v<Stages, NoStages>) {
    throw std::logic_error("linear: few rows are not multiplied so");
  } else {
    expect(f.input.encoded == nullptr,
           "linear: codes are of rows that are aligned and in pairs, on sm_90");
    if (rows == 1 && launch_one_row_of<T, Codes>(f, stages, stream)) return;
    launch_stages<T, Stages, Codes>(f, stages, rows, workspace, stream);
  }
}

template <typename Op>
void launch(const Op& op, cudaStream_t stream) {
  const std::int64_t rows = op.x.shape()[0];
  with_element(format_of(op), [&](auto element) {
    using T = decltype(element);
    const SmallBatch<T> f = arguments<T>(op);
    with_stages<T>(op.weight, op.quantized, [&](auto stages, auto codes) {
      using Codes = std::remove_pointer_t<decltype(codes)>;
      launch_if_read<T, decltype(stages), Codes>(f, stages, rows, op.workspace, stream);
    });
  });
}

}  // namespace

bool beats_gemm(const Tensor& x, Arch arch) {
  constexpr std::uint64_t kMostBytes = 80 << 10;
  return arch.sm >= 90 && is_16_bit(x.format()) && x.shape()[0] <= kColumns &&
         x.bytes() <= kMostBytes;
}

void launch_small_batch(const LinearForward& op, cudaStream_t stream) {
  if (!launch_many_rows(op, stream)) launch(op, stream);
}
void launch_small_batch(const MlpUpForward& op, cudaStream_t stream) {
  if (!launch_many_rows(op, stream)) launch(op, stream);
}

}  // namespace vramfit
