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

constexpr int kSums = kTileRows * kColumns;
/// How a warp runs ahead: in a ring of `kDepth` steps, of `kStages` stages each.
template <int kDepth_, int kStages_>
struct Ring {
  static constexpr int kDepth = kDepth_;
  static constexpr int kStages = kStages_;
};

template <typename Stages>
constexpr int kStageBytes = kTileBytes + (Stages::kScaleWords ? 4 * kWarp : 0);
/// Of all warps' rings.
template <typename Stages, typename Ring>
constexpr int kRingBytes = Stages::kWarps* Ring::kDepth* Ring::kStages* kStageBytes<Stages>;

/// What keeps memory busy, in steps of 128 neighbouring bytes of each row; and what is left where x
/// takes most of the room.
template <typename Stages>
using Deep = Ring<64 / Stages::kWarps, 2>;
template <typename Stages>
using Middle = Ring<80 / Stages::kWarps, 1>;
template <typename Stages>
using Shallow = Ring<Stages::kWarps == kFewWarps ? 5 : 3, 1>;

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

/// Row `r` of a tile; of what is gated two gates and their two partners take turns, so that a warp
/// that finishes four rows has both. Beyond the weight: -1.
template <typename T>
__device__ int row_of(const FewRows<T>& f, int tile, int r) {
  if (!f.gated) {
    const int row = tile * kTileRows + r;
    return row < f.out ? row : -1;
  }
  const int row = tile * kTileRows / 2 + r / 4 * 2 + r % 2;
  if (row >= f.out / 2) return -1;
  return r % 4 < 2 ? row : f.out / 2 + row;
}

/// 16 bytes, wherever they lie, of which `count` are the row's.
__device__ __noinline__ void copy_bytes(std::uint8_t* to, const std::uint8_t* from, int count) {
  for (int i = 0; i < 16; ++i) to[i] = i < count ? from[i] : std::uint8_t{0};
}

/// What a warp copies ahead of what it multiplies, step by step and tile by tile: of each stage a
/// lane two rows' 16 bytes, and a word of scales.
template <typename T, typename Stages, typename Ring>
class Ahead {
 public:
  __device__ Ahead(const FewRows<T>& f, const Stages& weight)
      : f_(f), weight_(weight), tile_(static_cast<int>(blockIdx.x)), stage_(first_stage()) {
    enter_tile();
  }

  __device__ void copy_step(std::uint8_t* to) {
    if (stage_ >= f_.stages) {
      tile_ += static_cast<int>(gridDim.x);
      stage_ = first_stage();
      enter_tile();
    }
    if (tile_ < f_.tiles && stage_ < f_.stages) {
#pragma unroll
      for (int i = 0; i < Ring::kStages; ++i) copy_stage(stage_ + i, to + i * kStageBytes<Stages>);
    }
    stage_ += Stages::kWarps * Ring::kStages;
    commit_copies();
  }

 private:
  __device__ static int first_stage() {
    return static_cast<int>(threadIdx.x) / kWarp * Ring::kStages;
  }
  __device__ void enter_tile() {
    if (tile_ >= f_.tiles) return;
    const Place at;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t row = max(row_of(f_, tile_, at.g + 8 * half), 0);
      rows_[half] = weight_.codes + row * f_.row_bytes + 16 * at.t;
    }
    if constexpr (Stages::kScaleWords) {
      const int r = static_cast<int>(threadIdx.x) % kWarp / 2;
      first_block_ = std::int64_t{max(row_of(f_, tile_, r), 0)} * weight_.blocks;
    }
  }

  __device__ void copy_stage(int stage, std::uint8_t* to) const {
    const Place at;
    const int offset = stage * kRowBytes;
    const int left = f_.row_bytes - offset - 16 * at.t;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      std::uint8_t* place = to + at.chunk(at.t) + half * 8 * kRowBytes;
      if (f_.packed) {
        copy_async(place, rows_[half] + offset, left > 0);
      } else {
        copy_bytes(place, rows_[half] + offset, left);
      }
    }
    if constexpr (Stages::kScaleWords) {
      const int lane = static_cast<int>(threadIdx.x) % kWarp;
      copy_word_async(to + kTileBytes + 4 * lane,
                      weight_.scale_word(first_block_, stage, lane % 2));
    }
  }

  const FewRows<T>& f_;
  const Stages& weight_;
  int tile_;
  int stage_;
  const std::uint8_t* rows_[2];
  std::int64_t first_block_ = 0;
};

/// Brings near what is added to the block's rows or scales them, and no kernel before writes: under
/// way beside the weight it would come late.
template <typename T>
__device__ void prefetch_of_rows(const FewRows<T>& f) {
  const int thread = static_cast<int>(threadIdx.x);
  const int tile = static_cast<int>(blockIdx.x) + thread / 2 * static_cast<int>(gridDim.x);
  if (tile >= f.tiles) return;
  // A tile's first row, and of what is gated its first partner.
  const int row = row_of(f, tile, thread % 2 * 2);
  if (row < 0) return;
  if (f.weight_scales != nullptr) prefetch(f.weight_scales + row);
  if (f.bias != nullptr) prefetch(f.bias + row);
}

/// What a thread finishes of a tile: an element of y, or one of each half. What it needs beside the
/// sums is asked for before they are there.
template <int kWarps, typename T>
class Finish {
 public:
  __device__ Finish(const FewRows<T>& f, int tile) : f_(f) {
    const int own = static_cast<int>(threadIdx.x);
    if (own >= kSums) return;
    row_ = row_of(f, tile, own / kColumns);
    n_ = own % kColumns;
    if (row_ < 0 || n_ >= f.input.rows) return;
    there_ = true;
    if (f.weight_scales != nullptr) scale_ = f.weight_scales[row_];
    if (f.bias != nullptr) bias_ = f.bias[row_];
    if (f.residual != nullptr) residual_ = f.residual[at()];
  }

  /// Of sums over the warps; `x_scales`: null where rows are not quantised.
  template <typename Sum>
  __device__ void write(const Sum* sums, const float* x_scales) const {
    Sum whole = 0;
    if (there_) {
#pragma unroll
      for (int warp = 0; warp < kWarps; ++warp) whole += sums[warp * kSums + threadIdx.x];
    }
    auto y = static_cast<float>(whole);
    if (f_.weight_scales != nullptr) y *= scale_;
    if (x_scales != nullptr && there_) y *= x_scales[n_];
    if (f_.bias != nullptr) y += to_float(bias_);
    if (f_.residual != nullptr) y += to_float(residual_);
    const T rounded = from_float<T>(y);
    if (there_) f_.y[at()] = rounded;
    if (f_.act != nullptr) activate(to_float(rounded));
  }

 private:
  __device__ std::int64_t at() const { return std::int64_t{n_} * f_.out + row_; }
  /// A gate's partner is two rows further on, half a warp away.
  __device__ void activate(float y) const {
    if (!f_.gated) {
      if (there_) f_.act[at()] = from_float<T>(gelu(y).value);
      return;
    }
    const float up = __shfl_xor_sync(kWholeWarp, y, kWarp / 2);
    if (there_ && threadIdx.x % kWarp < kWarp / 2) {
      f_.act[std::int64_t{n_} * (f_.out / 2) + row_] = from_float<T>(silu(y).value * up);
    }
  }

  const FewRows<T>& f_;
  bool there_ = false;
  int row_ = 0;
  int n_ = 0;
  float scale_ = 1;
  T bias_{};
  T residual_{};
};

/// x's pieces of a stage.
struct StagedRows {
  const std::uint8_t* first;  ///< a lane's 16 bytes of the first row's first piece
  int stride;
  int rows;

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
};

/// Codes: what rows are quantised to; void: they are not.
template <typename T, typename Stages, typename Codes, typename Ring>
__global__ void __launch_bounds__(Stages::kWarps* kWarp, 1)
    few_rows(const FewRows<T> f, Stages weight) {
  constexpr int kWarps = Stages::kWarps;
  constexpr int kStepBytes = Ring::kStages * kStageBytes<Stages>;
  constexpr int kPieceBytes = Stages::kElements * static_cast<int>(sizeof(typename Stages::Input));
  using Sum =
      std::conditional_t<std::is_same_v<typename Stages::Sums, TensorCoreSums<int>>, int, float>;
  __shared__ float x_scales[kColumns];
  __shared__ Sum partials[2][kWarps * kSums];
  auto* table = dynamic_shared<std::uint8_t>();
  std::uint8_t* rows = table + Stages::kTableBytes;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  std::uint8_t* const ring =
      rows + f.input.rows * f.input.stride + warp * Ring::kDepth * kStepBytes;
  std::uint8_t* const ring_end = ring + Ring::kDepth * kStepBytes;

  start_next_kernel();
  Ahead<T, Stages, Ring> ahead(f, weight);
  for (int slot = 0; slot < Ring::kDepth - 1; ++slot) ahead.copy_step(ring + slot * kStepBytes);
  if constexpr (Stages::kTableBytes > 0) {
    Stages::fill(reinterpret_cast<std::uint32_t*>(table));
    weight.table = table;
  }
  prefetch_norm(f.input);
  prefetch_of_rows(f);
  wait_for_previous_kernels();
  bring_rows<Stages, Codes>(f.input, rows, x_scales);

  const Place at;
  std::uint8_t* slot = ring;
  int buffer = 0;
  for (int tile = static_cast<int>(blockIdx.x); tile < f.tiles;
       tile += static_cast<int>(gridDim.x)) {
    typename Stages::Sums sums;
    const Finish<kWarps, T> finish(f, tile);
    unsigned low_block = 0;
    unsigned high_block = 0;
    if constexpr (Stages::kScaleWords) {
      low_block = static_cast<unsigned>(max(row_of(f, tile, at.g), 0) * weight.blocks);
      high_block = static_cast<unsigned>(max(row_of(f, tile, at.g + 8), 0) * weight.blocks);
    }
    for (int first = warp * Ring::kStages; first < f.stages; first += kWarps * Ring::kStages) {
      wait_for_copies<Ring::kDepth - 2>();
      __syncwarp();
      ahead.copy_step((slot == ring ? ring_end : slot) - kStepBytes);
#pragma unroll
      for (int i = 0; i < Ring::kStages; ++i) {
        const int stage = first + i;
        const std::uint8_t* codes = slot + i * kStageBytes<Stages>;
        const auto* words = reinterpret_cast<const std::uint32_t*>(codes + kTileBytes);
        weight.multiply(
            sums, WeightStage{codes, words, stage, low_block, high_block},
            StagedRows{rows + stage * kPieceBytes + 16 * at.t, f.input.stride, f.input.rows});
      }
      slot += kStepBytes;
      if (slot == ring_end) slot = ring;
    }
    sums.store(partials[buffer] + warp * kSums);
    __syncthreads();
    if (warp < kSums / kWarp) {
      finish.write(partials[buffer], std::is_void_v<Codes> ? nullptr : x_scales);
    }
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

/// Starts the kernel for rows that there is room for beside the ring.
template <typename Codes, typename Ring, typename T, typename Stages>
void start_kernel(const FewRows<T>& f, const Stages& weight, int blocks, cudaStream_t stream) {
  const int shared = Stages::kTableBytes + f.input.rows * f.input.stride + kRingBytes<Stages, Ring>;
  start({"linear", static_cast<unsigned>(blocks), Stages::kWarps * kWarp, stream,
         static_cast<std::size_t>(shared), true},
        few_rows<T, Stages, Codes, Ring>, f, weight);
}

/// As many rows at a time as shared memory has room for.
template <typename T, typename Stages, typename Codes>
void launch_stages(FewRows<T> f, const Stages& weight, std::int64_t rows, cudaStream_t stream) {
  constexpr int kStatic = 2 * Stages::kWarps * kSums * 4 + 1024;
  constexpr int kPieceBytes = Stages::kElements * static_cast<int>(sizeof(typename Stages::Input));
  static const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  static const int most =
      device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - kStatic - Stages::kTableBytes;
  f.stages = ceil_divide(f.row_bytes, kRowBytes);
  // Steps are whole, also at the end of a row.
  const int row_bytes = (f.stages + 1) / 2 * 2 * kPieceBytes;
  f.input.slots = row_bytes / 16;
  // Neighbouring rows' pieces are in different banks.
  f.input.stride = row_bytes % 128 == 0 ? row_bytes + 64 : row_bytes;
  const int at_once =
      std::min((most - kRingBytes<Stages, Shallow<Stages>>) / f.input.stride, kColumns);
  if (at_once <= 0) {
    throw BadInput("linear: a row of " + std::to_string(f.input.in) +
                   " elements is too long for this GPU's shared memory");
  }
  const int blocks = std::min(f.tiles, multiprocessors);
  for (std::int64_t first = 0; first < rows; first += at_once) {
    FewRows<T> part = f;
    part.input.rows = static_cast<int>(std::min<std::int64_t>(at_once, rows - first));
    part.input.x += first * f.input.in;
    part.residual = advanced(f.residual, first * f.out);
    part.y += first * f.out;
    part.act = advanced(f.act, first * (f.gated ? f.out / 2 : f.out));
    const int room = most - part.input.rows * f.input.stride;
    if (kRingBytes<Stages, Deep<Stages>> <= room) {
      start_kernel<Codes, Deep<Stages>>(part, weight, blocks, stream);
    } else if (kRingBytes<Stages, Middle<Stages>> <= room) {
      start_kernel<Codes, Middle<Stages>>(part, weight, blocks, stream);
    } else {
      start_kernel<Codes, Shallow<Stages>>(part, weight, blocks, stream);
    }
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
