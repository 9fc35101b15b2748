#include <cuda_runtime.h>

#include "kernels/cuda/few_rows/few_rows.h"
#include "kernels/cuda/few_rows/input_rows.cuh"
#include "kernels/cuda/few_rows/weight_stages.cuh"
#include "kernels/cuda/layers/activation.cuh"
#include "model/ops/workspaces.h"

// Blocks stay for the whole product, one on each multiprocessor. A block takes a tile of 16 rows of
// the weight after the other; its warps take turns at the tile's stages, each with a ring of its
// own that runs ahead, from tile to tile, and begins to fill before the kernel's inputs are there.

namespace vramfit {
namespace {

using namespace gpu;

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * kWarp;
constexpr int kSums = kTileRows * kColumns;
/// Of stages, in a ring: what keeps memory busy, and what is left where x takes most of the room.
constexpr int kDeep = 16;
constexpr int kShallow = 4;

template <typename Stages>
constexpr int kStageBytes = kTileBytes + (Stages::kScaleWords ? 4 * kWarp : 0);

/// What comes around the product.
template <typename T>
struct FewRows {
  InputRows<T> input;
  const float* weight_scales;  ///< of 8 bits; null: none
  const T* bias;
  const T* residual;
  T* y;
  T* act;      ///< null: none
  bool gated;  ///< act = silu(the first half of y) · the second; otherwise gelu(y)
  int out;
  int row_bytes;  ///< of the weight
  int stages;     ///< of a row
  int tiles;
  bool packed;  ///< rows of the weight are whole, aligned 16 bytes
};

/// Row `r` of a tile; of what is gated the tile's second half are the first one's partners. Beyond
/// the weight: -1.
template <typename T>
__device__ int row_of(const FewRows<T>& f, int tile, int r) {
  if (!f.gated) {
    const int row = tile * kTileRows + r;
    return row < f.out ? row : -1;
  }
  const int row = tile * kTileRows / 2 + r % (kTileRows / 2);
  if (row >= f.out / 2) return -1;
  return r < kTileRows / 2 ? row : f.out / 2 + row;
}

/// Begins to copy a lane's two rows' 16 bytes of a stage.
template <typename T, typename Stages>
__device__ void copy_stage(const FewRows<T>& f, const Stages& weight, int tile, int stage,
                           std::uint8_t* to) {
  const Place at;
  const int byte = stage * kRowBytes + 16 * at.t;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int r = at.g + 8 * half;
    const std::int64_t row = max(row_of(f, tile, r), 0);
    const std::uint8_t* from = weight.codes + row * f.row_bytes + byte;
    std::uint8_t* place = to + r * kRowBytes + 16 * at.t;
    if (f.packed) {
      const bool there = byte < f.row_bytes;
      copy_async(place, there ? from : weight.codes, there);
    } else {
      for (int i = 0; i < 16; ++i) place[i] = byte + i < f.row_bytes ? from[i] : std::uint8_t{0};
    }
  }
  if constexpr (Stages::kScaleWords) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const std::int64_t row = max(row_of(f, tile, lane / 2), 0);
    copy_word_async(to + kTileBytes + 4 * lane, weight.scale_word(row, stage, lane % 2));
  }
}

/// One element of y, from its warps' sums.
template <typename T, typename Sum>
__device__ T finished(const FewRows<T>& f, const Sum* sums, const float* x_scales, int row, int n) {
  Sum whole = 0;
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) whole += sums[warp * kSums];
  auto y = static_cast<float>(whole);
  if (f.weight_scales != nullptr) y *= f.weight_scales[row];
  if (x_scales != nullptr) y *= x_scales[n];
  if (f.bias != nullptr) y += to_float(f.bias[row]);
  const std::int64_t at = std::int64_t{n} * f.out + row;
  if (f.residual != nullptr) y += to_float(f.residual[at]);
  return f.y[at] = from_float<T>(y);
}

template <typename T, typename Sum>
__device__ void finish_tile(const FewRows<T>& f, const Sum* sums, const float* x_scales, int tile) {
  const int own = static_cast<int>(threadIdx.x);
  if (own >= (f.gated ? kSums / 2 : kSums)) return;
  const int r = own / kColumns;
  const int n = own % kColumns;
  const int row = row_of(f, tile, r);
  if (row < 0 || n >= f.input.rows) return;
  const float y = to_float(finished(f, sums + own, x_scales, row, n));
  if (f.act == nullptr) return;
  if (!f.gated) {
    f.act[std::int64_t{n} * f.out + row] = from_float<T>(gelu(y).value);
    return;
  }
  const int partner = f.out / 2 + row;
  const float up = to_float(finished(f, sums + kSums / 2 + own, x_scales, partner, n));
  f.act[std::int64_t{n} * (f.out / 2) + row] = from_float<T>(silu(y).value * up);
}

/// x's pieces of a stage.
struct StagedRows {
  const std::uint8_t* stage;  ///< where its first row's begin
  int stride;
  int rows;

  __device__ uint4 operator()(int row, int piece) const {
    if (row >= rows) return {};
    const int t = static_cast<int>(threadIdx.x) % 4;
    return *reinterpret_cast<const uint4*>(stage + row * stride + piece * kRowBytes + 16 * t);
  }
};

/// Codes: what rows are quantised to; void: they are not.
template <typename T, typename Stages, typename Codes, int kDepth>
__global__ void __launch_bounds__(kThreads, 1) few_rows(const FewRows<T> f, Stages weight) {
  using Sum = std::remove_cvref_t<decltype(typename Stages::Sums{}.values[0])>;
  using Partial = std::conditional_t<std::is_same_v<Sum, int>, int, float>;
  constexpr int kPieces =
      Stages::kElements * static_cast<int>(sizeof(typename Stages::Input)) / kRowBytes;
  __shared__ float x_scales[kColumns];
  __shared__ Partial partials[2][kWarps * kSums];
  auto* table = dynamic_shared<std::uint8_t>();
  std::uint8_t* rows = table + Stages::kTableBytes;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  std::uint8_t* ring = rows + f.input.rows * f.input.stride + warp * kDepth * kStageBytes<Stages>;

  start_next_kernel();
  int ahead_tile = static_cast<int>(blockIdx.x);
  int ahead_stage = warp;
  const auto copy_ahead = [&](int slot) {
    if (ahead_stage >= f.stages) {
      ahead_tile += static_cast<int>(gridDim.x);
      ahead_stage = warp;
    }
    if (ahead_tile < f.tiles && ahead_stage < f.stages) {
      copy_stage(f, weight, ahead_tile, ahead_stage, ring + slot * kStageBytes<Stages>);
    }
    ahead_stage += kWarps;
    commit_copies();
  };
  for (int slot = 0; slot < kDepth - 1; ++slot) copy_ahead(slot);
  if constexpr (Stages::kTableBytes > 0) {
    auto* words = reinterpret_cast<std::uint32_t*>(table);
    Stages::fill(words);
    weight.table = words;
  }
  wait_for_previous_kernels();
  bring_rows<Stages, Codes, kWarps>(f.input, rows, x_scales);

  int slot = 0;
  int buffer = 0;
  for (int tile = static_cast<int>(blockIdx.x); tile < f.tiles;
       tile += static_cast<int>(gridDim.x)) {
    typename Stages::Sums sums;
    const Place at;
    const std::int64_t low = max(row_of(f, tile, at.g), 0);
    const std::int64_t high = max(row_of(f, tile, at.g + 8), 0);
    for (int stage = warp; stage < f.stages; stage += kWarps) {
      wait_for_copies<kDepth - 2>();
      __syncwarp();
      copy_ahead(slot == 0 ? kDepth - 1 : slot - 1);
      const std::uint8_t* codes = ring + slot * kStageBytes<Stages>;
      const auto* words = reinterpret_cast<const std::uint32_t*>(codes + kTileBytes);
      weight.multiply(sums, WeightStage{codes, words, stage, {low, high}},
                      StagedRows{rows + stage * kPieces * kRowBytes, f.input.stride, f.input.rows});
      slot = slot + 1 == kDepth ? 0 : slot + 1;
    }
    sums.store(partials[buffer] + warp * kSums);
    __syncthreads();
    finish_tile(f, partials[buffer], std::is_void_v<Codes> ? nullptr : x_scales, tile);
    buffer ^= 1;
  }
}

int device_attribute(cudaDeviceAttr attribute) {
  int device = 0;
  int value = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
  return value;
}

template <typename T>
T* elements_of(const Tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->as<T>();
}

template <typename T>
T* advanced(T* pointer, std::int64_t elements) {
  return pointer == nullptr ? nullptr : pointer + elements;
}

/// As many rows at a time as shared memory has room for beside the rings.
template <typename T, typename Stages, typename Codes>
void launch_stages(FewRows<T> f, const Stages& weight, std::int64_t rows, cudaStream_t stream) {
  constexpr int kRing = kWarps * kStageBytes<Stages>;
  constexpr int kStatic = 2 * kWarps * kSums * 4 + 1024;
  constexpr int kPieceBytes = Stages::kElements * static_cast<int>(sizeof(typename Stages::Input));
  static const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  static const int most = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - kStatic;
  f.stages = ceil_divide(f.row_bytes, kRowBytes);
  const int row_bytes = f.stages * kPieceBytes;
  f.input.slots = row_bytes / 16;
  // Neighbouring rows' pieces are in different banks.
  f.input.stride = row_bytes % 128 == 0 ? row_bytes + 64 : row_bytes;
  const int room = most - Stages::kTableBytes - kShallow * kRing;
  const int at_once = std::min(room / f.input.stride, kColumns);
  if (at_once == 0) {
    throw BadInput("linear: a row of " + std::to_string(f.input.in) +
                   " elements is too long for this GPU's shared memory");
  }
  for (std::int64_t first = 0; first < rows; first += at_once) {
    FewRows<T> part = f;
    part.input.rows = static_cast<int>(std::min<std::int64_t>(at_once, rows - first));
    part.input.x += first * f.input.in;
    part.residual = advanced(f.residual, first * f.out);
    part.y += first * f.out;
    part.act = advanced(f.act, first * (f.gated ? f.out / 2 : f.out));
    const int taken = Stages::kTableBytes + part.input.rows * f.input.stride;
    const bool deep = taken + kDeep * kRing <= most;
    const auto shared = static_cast<std::size_t>(taken + (deep ? kDeep : kShallow) * kRing);
    const auto blocks = static_cast<unsigned>(std::min(f.tiles, multiprocessors));
    start({"linear", blocks, kThreads, stream, shared, true},
          deep ? few_rows<T, Stages, Codes, kDeep> : few_rows<T, Stages, Codes, kShallow>, part,
          weight);
  }
}

template <typename Stages>
Stages stages_of(const std::uint8_t* codes) {
  Stages stages;
  stages.codes = codes;
  return stages;
}

/// Calls the launch with a reader of the weight's stages.
template <typename T>
void launch_format(const FewRows<T>& f, const Tensor& weight, bool quantizes_x, std::int64_t rows,
                   cudaStream_t stream) {
  const auto* codes = weight.as<const std::uint8_t>();
  const Format format = weight.format();
  if (!is_quantized(format)) {
    return launch_stages<T, PlainStages<T>, void>(f, stages_of<PlainStages<T>>(codes), rows,
                                                  stream);
  }
  if constexpr (sizeof(T) == 2) {
    using Int8 = EightBitStages<T, std::int8_t>;
    using Fp8 = EightBitStages<__half, __nv_fp8_e4m3>;
    const FourBitLayout layout(format, weight.stored().elements());
    const int blocks = f.input.in / static_cast<int>(format.row().block);
    if (format == Format(DType::Int8) && quantizes_x) {
      return launch_stages<T, Int8Stages, std::int8_t>(f, stages_of<Int8Stages>(codes), rows,
                                                       stream);
    }
    if (format == Format(DType::Int8)) {
      return launch_stages<T, Int8, void>(f, stages_of<Int8>(codes), rows, stream);
    }
    if (format == Format(DType::Fp8) && quantizes_x) {
      return launch_stages<T, Fp8, __nv_fp8_e4m3>(f, stages_of<Fp8>(codes), rows, stream);
    }
    if (format == kNf4) {
      auto stages = stages_of<Nf4Stages<T>>(codes);
      stages.blocks = blocks;
      stages.scales = reinterpret_cast<const float*>(codes + layout.scales);
      return launch_stages<T, Nf4Stages<T>, void>(f, stages, rows, stream);
    }
    if (format == kInt4) {
      auto stages = stages_of<Int4Stages<T>>(codes);
      stages.blocks = blocks;
      stages.scales = reinterpret_cast<const __half*>(codes + layout.scales);
      stages.zeros = codes + layout.zeros;
      return launch_stages<T, Int4Stages<T>, void>(f, stages, rows, stream);
    }
  }
  throw std::logic_error("linear: few rows are not multiplied so");
}

/// What LinearForward and MlpUpForward have in common.
template <typename T, typename Op>
FewRows<T> arguments(const Op& op, Tensor& y) {
  const std::int64_t in = op.weight.stored()[1];
  const auto* norm = op.norm;
  FewRows<T> f{};
  f.input.x = op.x.template as<const T>();
  f.input.norm_weight = norm == nullptr ? nullptr : norm->weight.template as<const T>();
  f.input.norm_bias = norm == nullptr ? nullptr : elements_of<const T>(norm->bias);
  f.input.eps = norm == nullptr ? 0 : norm->eps;
  f.input.in = static_cast<int>(in);
  f.input.packed = is_packed<T>(in, {op.x.data(), f.input.norm_weight, f.input.norm_bias});
  f.weight_scales = elements_of<const float>(op.quantized.weight_scales);
  f.bias = elements_of<const T>(op.bias);
  f.y = y.as<T>();
  f.out = static_cast<int>(op.weight.stored()[0]);
  f.row_bytes = static_cast<int>(in * op.weight.format().row().bits / 8);
  f.packed = is_packed<std::uint8_t>(f.row_bytes, {op.weight.data()});
  return f;
}

}  // namespace

void launch_few_rows(const LinearForward& op, cudaStream_t stream) {
  with_element(op.y.format(), [&](auto element) {
    using T = decltype(element);
    FewRows<T> f = arguments<T>(op, op.y);
    f.residual = elements_of<const T>(op.residual);
    f.tiles = ceil_divide(f.out, kTileRows);
    launch_format(f, op.weight, op.quantized.quantizes_x, op.x.shape()[0], stream);
  });
}

void launch_few_rows(const MlpUpForward& op, cudaStream_t stream) {
  with_element(op.act.format(), [&](auto element) {
    using T = decltype(element);
    FewRows<T> f = arguments<T>(op, op.pre);
    f.act = op.act.as<T>();
    f.gated = op.kind == ActivationKind::SwiGlu;
    f.tiles = f.gated ? ceil_divide(f.out / 2, kTileRows / 2) : ceil_divide(f.out, kTileRows);
    launch_format(f, op.weight, op.quantized.quantizes_x, op.x.shape()[0], stream);
  });
}

}  // namespace vramfit
