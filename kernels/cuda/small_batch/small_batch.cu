#include <cuda_runtime.h>

#include "kernels/cuda/small_batch/copy_ahead.cuh"
#include "kernels/cuda/small_batch/encode_rows.cuh"
#include "kernels/cuda/small_batch/finish.cuh"
#include "kernels/cuda/small_batch/one_row.cuh"
#include "kernels/cuda/small_batch/small_batch.h"
#include "kernels/cuda/small_batch/stages_of.cuh"
#include "model/ops/workspaces.h"

// Blocks stay for the whole product, one on each multiprocessor. A block takes a tile of 16 rows of
// the weight after the other, or of clusters of blocks each has its part of the rows' columns; its
// warps take turns at the tile's stages, each with a ring of its own that runs ahead, from tile to
// tile, and begins to fill before the kernel's inputs are there. One row has a kernel of its own
// with a weight whose values are looked up, see one_row.cuh.

namespace vramfit {
namespace {

using namespace gpu;

/// x's pieces of a stage.
struct StagedRows {
  const std::uint8_t* first;  ///< a lane's 16 bytes of the first row's first piece
  int stride;
  int rows;
  const float* stage_sums;  ///< (stages, kColumns) of the share, where the weight wants them

  /// Of the row that the lane has a column of; where there is none, of another: its sums are not
  /// looked at.
  __device__ uint4 own(int piece) const {
    const Place at;
    return *reinterpret_cast<const uint4*>(first + min(at.g, rows - 1) * stride +
                                           piece * kRowBytes);
  }
  __device__ uint4 of(int row) const {
    return *reinterpret_cast<const uint4*>(first + row * stride);
  }
  /// Of the two columns that the lane has sums of.
  __device__ float2 sums() const {
    const Place at;
    return *reinterpret_cast<const float2*>(stage_sums + 2 * at.t);
  }
};

/// Bytes of the sums of x's stages.
template <typename Stages>
constexpr int stage_sum_bytes(int stages) {
  return Stages::kSumsStages ? stages * kColumns * 4 : 0;
}

/// Codes: what rows are quantised to; void: they are not.
template <typename T, typename Stages, typename Codes, typename Ring, bool kPacked>
__global__ void __launch_bounds__(Stages::kWarps* kWarp, 1)
    small_batch(const __grid_constant__ SmallBatch<T> f, Stages weight,
                const __grid_constant__ CUtensorMap boxes) {
  using AheadOf = Ahead<T, Stages, Ring, kPacked>;
  constexpr int kWarps = Stages::kWarps;
  // The warps that finish a tile wait for the others, which go on: until its sums are written over,
  // each warp has had its turn to wait, and so those who finished it have gone on, too.
  constexpr int kFinishing = kSums / kWarp;
  constexpr int kTurns = kWarps / kFinishing;
  constexpr int kPieceBytes = Stages::kElements * static_cast<int>(sizeof(typename Stages::Input));
  using Sum =
      std::conditional_t<std::is_same_v<typename Stages::Sums, TensorCoreSums<int>>, int, float>;
  __shared__ float x_scales[kColumns];
  __shared__ float reduced[3][kMaxWarps];
  __shared__ Sum partials[kTurns][kWarps * kSums];
  __shared__ typename AheadOf::Barriers barriers;
  std::uint8_t* const rings = swizzle_aligned(dynamic_shared<std::uint8_t>());
  std::uint8_t* const table = rings + kRingBytes<Stages, Ring>;
  std::uint8_t* const rows = table + Stages::kTableBytes;
  auto* const stage_sums = reinterpret_cast<float*>(rows + f.input.rows * f.input.stride);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;

  start_next_kernel();
  // What is read but once comes before the ring's bytes, behind which it would wait.
  HeldRow<Stages, Codes, kMostHeld, T> row(f.input);
  const Share share(f, f.ranks);
  prefetch_of_rows(f, share);
  if (!f.input.held) prefetch_norm(f.input);
  AheadOf ahead(f, weight, boxes, share, rings, barriers);
  if constexpr (Stages::kTableBytes > 0) {
    weight.fill(reinterpret_cast<std::uint32_t*>(table));
  }
  wait_for_previous_kernels();
  if (kPacked && f.input.held) {
    const float scale = row.read(f.input.x, reduced);
    if (threadIdx.x == 0) x_scales[0] = scale;
    row.store(rows, f.input.slots, stage_sums);
    __syncthreads();
  } else {
    if (f.input.copied) {
      copy_rows<Stages>(f.input, share.first_stage * kStageSlots<Stages>, rows, x_scales);
    } else {
      bring_rows<Stages, Codes, kPacked>(f.input, rows, x_scales);
    }
    if constexpr (Stages::kSumsStages) sum_stages<Stages>(f.input, rows, stage_sums);
  }

  const Place at;
  int turn = 0;
  for (int tile = share.first_tile; tile < f.tiles; tile += share.tile_step) {
    typename Stages::Sums sums;
    const Finish<kWarps, T> finish(f, share, tile, warp / kFinishing == turn);
    const unsigned first_block = AheadOf::first_block(f, weight, tile);
    for (int first = share.first_stage + warp * Ring::kStages; first < share.end_stage;
         first += kWarps * Ring::kStages) {
      ahead.wait_for_step();
#pragma unroll
      for (int i = 0; i < Ring::kStages; ++i) {
        const int own = first + i - share.first_stage;
        weight.multiply(
            sums,
            WeightStage<Ring::kStages>{ahead.codes(), i, first + i, ahead.words(i), first_block},
            StagedRows{rows + own * kPieceBytes + 16 * at.t, f.input.stride, f.input.rows,
                       stage_sums + own * kColumns});
      }
      ahead.advance();
    }
    sums.store(partials[turn] + warp * kSums);
    if (f.ranks > 1) {
      cluster_barrier();
    } else if (warp / kFinishing == turn) {
      named_barrier(1 + turn, kWarps * kWarp);
    } else {
      __syncwarp();
      arrive_at_barrier(1 + turn, kWarps * kWarp);
    }
    if (warp / kFinishing == turn) {
      finish.write(partials[turn], std::is_void_v<Codes> ? nullptr : x_scales);
    }
    turn = turn + 1 == kTurns ? 0 : turn + 1;
  }
  // No block's sums go before the others have read them.
  if (f.ranks > 1) cluster_barrier();
}

template <typename T>
T* elements_of(const Tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->as<T>();
}

template <typename T>
T* advanced(T* pointer, std::int64_t elements) {
  return pointer == nullptr ? nullptr : pointer + elements;
}

/// Starts the kernel for rows that there is room for beside the ring.
template <typename Codes, typename Ring, bool kPacked, typename T, typename Stages>
void start_kernel(const SmallBatch<T>& f, const Stages& weight, const CUtensorMap& boxes,
                  int blocks, cudaStream_t stream) {
  const int shared = kSwizzleAlignment + kRingBytes<Stages, Ring> + Stages::kTableBytes +
                     f.input.rows * f.input.stride + stage_sum_bytes<Stages>(f.rank_stages);
  start({"linear", static_cast<unsigned>(blocks), Stages::kWarps * kWarp, stream,
         static_cast<std::size_t>(shared), true, f.ranks},
        small_batch<T, Stages, Codes, Ring, kPacked>, f, weight, boxes);
}

/// Has rows normalised and quantised once for all blocks, into the workspace.
template <typename Stages, typename Codes, typename T>
void encode(SmallBatch<T>& f, std::int64_t rows, const Tensor& workspace, cudaStream_t stream) {
  const std::uint64_t row_bytes = 16 * static_cast<std::uint64_t>(f.input.all_slots);
  const std::uint64_t code_bytes = static_cast<std::uint64_t>(rows) * row_bytes;
  expect_workspace(workspace, code_bytes + static_cast<std::uint64_t>(rows) * sizeof(float),
                   "linear");
  auto* encoded = workspace.as<std::uint8_t>();
  auto* scales = reinterpret_cast<float*>(encoded + code_bytes);
  InputRows<T> input = f.input;
  input.held = true;
  const auto start_with = [&](auto held) {
    constexpr int kHeld = decltype(held)::value;
    start({"linear: quantise", static_cast<unsigned>(rows),
           whole_warps(ceil_divide(f.input.all_slots, kHeld)), stream, 0, true},
          encode_rows<Stages, Codes, kHeld, T>, input, encoded, scales);
  };
  if (f.input.all_slots <= kEncodingThreads) {
    start_with(Constant<1>{});
  } else {
    start_with(Constant<kMostEncoded>{});
  }
  f.input.encoded = encoded;
  f.input.scales = scales;
  f.input.norm_weight = nullptr;
  f.input.norm_bias = nullptr;
}

/// Blocks of a cluster that share a tile: two where a whole row of x leaves too little room for the
/// ring.
template <typename Stages, typename T>
int ranks_of(const SmallBatch<T>& f, int row_bytes, int rows, int room) {
  static const bool clusters = device_attribute(cudaDevAttrComputeCapabilityMajor) >= 9;
  const bool fits = std::min(rows, kColumns) * row_bytes + kRingBytes<Stages, Deep<Stages>> <= room;
  return clusters && f.input.copied && !fits ? 2 : 1;
}

/// As many rows at a time as shared memory has room for.
template <typename T, typename Stages, typename Codes>
void launch_stages(SmallBatch<T> f, const Stages& weight, std::int64_t rows,
                   const Tensor& workspace, cudaStream_t stream) {
  constexpr int kStatic = Stages::kWarps * Stages::kWarps * kWarp * 4 + 2048;
  constexpr int kStageRowBytes = 16 * kStageSlots<Stages>;
  static const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  static const int all = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - kStatic -
                         kSwizzleAlignment - Stages::kTableBytes;
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
  f.ranks = ranks_of<Stages>(f, f.stages * kStageRowBytes, static_cast<int>(rows), all);
  // Steps are whole, also at the end of a row.
  f.rank_stages = ceil_divide(ceil_divide(f.stages, f.ranks), 2) * 2;
  const int row_bytes = f.rank_stages * kStageRowBytes;
  f.input.slots = row_bytes / 16;
  f.input.held = f.packed && rows == 1 && f.input.slots <= kMostHeld * Stages::kWarps * kWarp;
  // Neighbouring rows' pieces are in different banks.
  f.input.stride = row_bytes % 128 == 0 ? row_bytes + 64 : row_bytes;
  const int most = all - stage_sum_bytes<Stages>(f.rank_stages);
  const int at_once =
      std::min((most - kRingBytes<Stages, Shallow<Stages>>) / f.input.stride, kColumns);
  if (at_once <= 0) {
    throw BadInput("linear: a row of " + std::to_string(f.input.in) +
                   " elements is too long for this GPU's shared memory");
  }
  const int blocks = std::min(f.tiles, multiprocessors / f.ranks) * f.ranks;
  const CUtensorMap boxes = tile_boxes(f, weight.codes);
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
      start_kernel<Codes, Shallow<Stages>, false>(part, weight, boxes, blocks, stream);
    } else if (kRingBytes<Stages, Deep<Stages>> <= room) {
      start_kernel<Codes, Deep<Stages>, true>(part, weight, boxes, blocks, stream);
    } else {
      start_kernel<Codes, Shallow<Stages>, true>(part, weight, boxes, blocks, stream);
    }
  }
}

/// Returns false, and starts nothing, where the row or the weight is not as `one_row` wants it.
template <typename T, typename Stages>
bool launch_one_row(SmallBatch<T> f, const Stages& weight, cudaStream_t stream) {
  constexpr int kStatic = Stages::kWarps * Stages::kWarps * kTileRows * 4 + 2048;
  static const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  static const int most = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - kStatic;
  f.stages = ceil_divide(f.row_bytes, kRowBytes);
  // Steps are whole, also at the end of a row.
  f.rank_stages = ceil_divide(f.stages, 2) * 2;
  f.ranks = 1;
  f.input.rows = 1;
  f.input.all_slots = f.stages * kStageSlots<Stages>;
  f.input.slots = f.rank_stages * kStageSlots<Stages>;
  f.input.held = f.input.slots <= kMostHeld * Stages::kWarps * kWarp;
  f.input.stride = 16 * f.input.slots;
  const int shared =
      kSwizzleAlignment + kRingBytes<Stages, Deep<Stages>> + Stages::kTableBytes + f.input.stride;
  if (!f.packed || !f.input.held || shared > most) return false;
  start({"linear", static_cast<unsigned>(std::min(f.tiles, multiprocessors)),
         Stages::kWarps * kWarp, stream, static_cast<std::size_t>(shared), true},
        one_row<T, Stages>, f, weight, tile_boxes(f, weight.codes));
  return true;
}

template <typename T, typename Stages, typename Codes>
void launch_if_read(const SmallBatch<T>& f, const Stages& stages, std::int64_t rows,
                    const Tensor& workspace, cudaStream_t stream) {
  if constexpr (std::is_same_v<Stages, NoStages>) {
    throw std::logic_error("linear: few rows are not multiplied so");
  } else {
    if constexpr (Stages::kTableBytes > 0) {
      if (rows == 1 && launch_one_row(f, stages, stream)) return;
    }
    launch_stages<T, Stages, Codes>(f, stages, rows, workspace, stream);
  }
}

/// Calls the launch with a reader of the weight's stages.
template <typename T>
void launch_format(const SmallBatch<T>& f, const Tensor& weight, bool quantizes_x,
                   std::int64_t rows, const Tensor& workspace, cudaStream_t stream) {
  const auto launch = [&](auto stages, auto codes) {
    using Codes = std::remove_pointer_t<decltype(codes)>;
    launch_if_read<T, decltype(stages), Codes>(f, stages, rows, workspace, stream);
  };
  with_row(weight.format(), [&](auto row) {
    constexpr std::size_t kRow = decltype(row)::value;
    if constexpr (kFormats[kRow].scales == Scales::Row) {
      using Code = typename GpuCode<kFormats[kRow].element>::Type;
      if (quantizes_x) return launch(stages_of<T, kRow, Code>(weight), static_cast<Code*>(nullptr));
    }
    launch(stages_of<T, kRow, void>(weight), static_cast<void*>(nullptr));
  });
}

/// What LinearForward and MlpUpForward have in common.
template <typename T, typename Op>
SmallBatch<T> arguments(const Op& op, Tensor& y) {
  const std::int64_t in = op.weight.stored()[1];
  if (op.x.shape()[1] != in) throw std::logic_error("linear: rows of x and weight differ");
  const auto* norm = op.norm;
  SmallBatch<T> f{};
  f.input.x = op.x.template as<const T>();
  f.input.norm_weight = norm == nullptr ? nullptr : norm->weight.template as<const T>();
  f.input.norm_bias = norm == nullptr ? nullptr : elements_of<const T>(norm->bias);
  f.input.eps = norm == nullptr ? 0 : norm->eps;
  f.input.in = static_cast<int>(in);
  f.weight_scales = elements_of<const float>(op.quantized.weight_scales);
  f.bias = elements_of<const T>(op.bias);
  f.y = y.as<T>();
  f.out = static_cast<int>(op.weight.stored()[0]);
  f.row_bytes = static_cast<int>(in * op.weight.format().row().bits / 8);
  f.packed = is_packed<std::uint8_t>(f.row_bytes, {op.weight.data()}) &&
             is_packed<T>(in, {op.x.data(), f.input.norm_weight, f.input.norm_bias});
  return f;
}

}  // namespace

bool beats_gemm(const Tensor& x, Arch arch) {
  constexpr std::uint64_t kMostBytes = 80 << 10;
  return arch.sm >= 90 && is_16_bit(x.format()) && x.shape()[0] <= kColumns &&
         x.bytes() <= kMostBytes;
}

void launch_small_batch(const LinearForward& op, cudaStream_t stream) {
  with_element(op.y.format(), [&](auto element) {
    using T = decltype(element);
    SmallBatch<T> f = arguments<T>(op, op.y);
    f.residual = elements_of<const T>(op.residual);
    f.tiles = ceil_divide(f.out, kTileRows);
    launch_format(f, op.weight, op.quantized.quantizes_x, op.x.shape()[0], op.workspace, stream);
  });
}

void launch_small_batch(const MlpUpForward& op, cudaStream_t stream) {
  with_element(op.act.format(), [&](auto element) {
    using T = decltype(element);
    SmallBatch<T> f = arguments<T>(op, op.pre);
    f.act = op.act.as<T>();
    f.gated = op.kind == ActivationKind::SwiGlu;
    f.tiles = f.gated ? ceil_divide(f.out / 2, kTileRows / 2) : ceil_divide(f.out, kTileRows);
    launch_format(f, op.weight, op.quantized.quantizes_x, op.x.shape()[0], op.workspace, stream);
  });
}

}  // namespace vramfit
