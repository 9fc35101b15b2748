#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/base/largest.cuh"
#include "kernels/cuda/base/launch.h"
#include "model/ops/quantized_layout.h"

namespace vramfit {
namespace {

using namespace gpu;

constexpr int kThreads = 256;

/// Packs of a thread that are on their way at once.
constexpr int kAtOnce = 4;

template <typename T, int N>
__global__ void __launch_bounds__(kThreads)
    find_largest(const T* from, std::int64_t packs, float* largest) {
  float most = 0;
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads * kAtOnce;
  for (std::int64_t first = std::int64_t{blockIdx.x} * kThreads * kAtOnce; first < packs;
       first += step) {
    Pack<T, N> pack[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const std::int64_t p = first + k * kThreads + threadIdx.x;
      if (p < packs) pack[k] = Pack<T, N>::load(from + p * N);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const std::int64_t p = first + k * kThreads + threadIdx.x;
      if (p < packs) most = fmaxf(most, largest_of(pack[k].floats()));
    }
  }
  __shared__ float shared[kMaxWarps];
  join_largest<T>(most, shared, largest);
}

/// Eight codes of a row.
__device__ uint2 scaled_codes(Floats<8> values, float factor) {
#pragma unroll
  for (int i = 0; i < 8; ++i) values[i] *= factor;
  return eight_codes(values.values, __nv_fp8_e4m3{});
}

constexpr float kLargestCode = Format(DType::Fp8).row().largest;

/// What all codes of a tensor share; the grid's first thread says what they are multiplied by.
__device__ float factor_of(float* scale, bool first) {
  const float largest = scale[CodeScale::kLargest];
  const float factor = code_factor(kLargestCode, largest);
  if (first) scale[CodeScale::kScale] = 1.0F / factor;
  return factor;
}

constexpr int kRun = 16;  ///< neighbours that a thread encodes

template <typename T>
__global__ void __launch_bounds__(kThreads)
    encode(const T* from, uint4* codes, std::int64_t runs, float* scale) {
  const std::int64_t run = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const float factor = factor_of(scale, run == 0);
  if (run >= runs) return;
  const auto low = Pack<T, 8>::load(from + run * kRun);
  const auto high = Pack<T, 8>::load(from + run * kRun + 8);
  const uint2 a = scaled_codes(low.floats(), factor);
  const uint2 b = scaled_codes(high.floats(), factor);
  codes[run] = {a.x, a.y, b.x, b.y};
}

/// Bytes of four words, as a matrix of 4 x 4, transposed.
__device__ void transpose_bytes(std::uint32_t (&w)[4]) {
  const std::uint32_t a = __byte_perm(w[0], w[1], 0x5140);
  const std::uint32_t b = __byte_perm(w[2], w[3], 0x5140);
  const std::uint32_t c = __byte_perm(w[0], w[1], 0x7362);
  const std::uint32_t d = __byte_perm(w[2], w[3], 0x7362);
  w[0] = __byte_perm(a, b, 0x5410);
  w[1] = __byte_perm(a, b, 0x7632);
  w[2] = __byte_perm(c, d, 0x5410);
  w[3] = __byte_perm(c, d, 0x7632);
}

/// A block transposes a tile of 128 x 128. A thread has two patches of it, of 4 rows and 8 columns;
/// of each column it has a word, 4 rows' codes, for the transposed tile in shared memory.
constexpr int kTile = 128;
constexpr int kPatchRows = 4;
constexpr int kPatchColumns = 8;
constexpr int kPatchesAcross = kTile / kPatchColumns;
constexpr int kPatches = kTile / kPatchRows * kPatchesAcross / kThreads;
constexpr int kWords = kTile / kPatchRows;  ///< of a column of the tile

/// Where a column's words stand: those that a warp writes at once, of 16 patches across and two
/// down, are in banks of their own, and four that begin a vector stay within one.
__device__ int word_at(int column, int patch_row) {
  return column * kWords + (patch_row ^ 2 * (column / kPatchColumns));
}

struct Matrix {
  int rows;
  int columns;
};

template <typename T, bool kAsTheyLie>
__global__ void __launch_bounds__(kThreads)
    encode_transposed(const T* from, std::uint8_t* codes, std::uint8_t* transposed, Matrix size,
                      float* scale) {
  __shared__ alignas(16) std::uint32_t tile[kTile * kWords];
  const int thread = static_cast<int>(threadIdx.x);
  const int first_row = static_cast<int>(blockIdx.y) * kTile;
  const int first_column = static_cast<int>(blockIdx.x) * kTile;
  Pack<T, kPatchColumns> pack[kPatches][kPatchRows];
#pragma unroll
  for (int k = 0; k < kPatches; ++k) {
    const int patch = thread + k * kThreads;
    const int row = first_row + patch / kPatchesAcross * kPatchRows;
    const int column = first_column + patch % kPatchesAcross * kPatchColumns;
    if (row >= size.rows || column >= size.columns) continue;
#pragma unroll
    for (int r = 0; r < kPatchRows; ++r) {
      pack[k][r] =
          Pack<T, kPatchColumns>::load(from + std::int64_t{row + r} * size.columns + column);
    }
  }
  const float factor = factor_of(scale, blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0);
#pragma unroll
  for (int k = 0; k < kPatches; ++k) {
    const int patch = thread + k * kThreads;
    const int row = first_row + patch / kPatchesAcross * kPatchRows;
    const int column = first_column + patch % kPatchesAcross * kPatchColumns;
    if (row >= size.rows || column >= size.columns) continue;
    std::uint32_t low[kPatchRows];
    std::uint32_t high[kPatchRows];
#pragma unroll
    for (int r = 0; r < kPatchRows; ++r) {
      const uint2 eight = scaled_codes(pack[k][r].floats(), factor);
      low[r] = eight.x;
      high[r] = eight.y;
      if constexpr (kAsTheyLie) {
        *reinterpret_cast<uint2*>(codes + std::int64_t{row + r} * size.columns + column) = eight;
      }
    }
    transpose_bytes(low);
    transpose_bytes(high);
    const int in_tile = column - first_column;
    const int patch_row = patch / kPatchesAcross;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      tile[word_at(in_tile + j, patch_row)] = low[j];
      tile[word_at(in_tile + 4 + j, patch_row)] = high[j];
    }
  }
  __syncthreads();
  constexpr int kVectors = kWords / 4;  // of a column, 16 rows each
#pragma unroll
  for (int k = 0; k < kTile * kVectors / kThreads; ++k) {
    const int at = thread + k * kThreads;
    const int column = at / kVectors;
    const int vector = at % kVectors;
    const int row = first_row + vector * 16;
    if (row >= size.rows || first_column + column >= size.columns) continue;
    const int group = column / kPatchColumns;
    const auto words =
        reinterpret_cast<const uint4*>(tile)[column * kVectors + (vector ^ group / 2)];
    const bool swapped = group % 2 == 1;  // by word_at's exclusive or with 2
    *reinterpret_cast<uint4*>(transposed + std::int64_t{first_column + column} * size.rows + row) =
        swapped ? uint4{words.z, words.w, words.x, words.y} : words;
  }
}

template <typename T>
void launch_codes(const EncodeTensor& op, cudaStream_t stream) {
  const std::int64_t rows = op.from.stored()[0];
  const std::int64_t columns = op.from.stored()[1];
  expect(rows % kRun == 0 && columns % kRun == 0, "encode: sizes are multiples of 16");
  const auto* from = op.from.as<const T>();
  auto* scale = op.scale.as<float>();
  if (op.transposed == nullptr) {
    const std::int64_t runs = rows * columns / kRun;
    start({"encode", ceil_divide(runs, kThreads), kThreads, stream}, encode<T>, from,
          op.codes->as<uint4>(), runs, scale);
    return;
  }
  const dim3 grid(static_cast<unsigned>(ceil_divide(columns, kTile)),
                  static_cast<unsigned>(ceil_divide(rows, kTile)));
  const auto kernel =
      op.codes != nullptr ? encode_transposed<T, true> : encode_transposed<T, false>;
  start({"encode", grid, kThreads, stream}, kernel, from,
        op.codes != nullptr ? op.codes->as<std::uint8_t>() : nullptr,
        op.transposed->as<std::uint8_t>(),
        Matrix{static_cast<int>(rows), static_cast<int>(columns)}, scale);
}

}  // namespace

void launch(const FindLargest& op, cudaStream_t stream) {
  const std::int64_t elements = op.from.stored().elements();
  auto* largest = op.scale.as<float>() + CodeScale::kLargest;
  with_element(op.from.format(), [&](auto element) {
    using T = decltype(element);
    with_pack<T>(is_packed<T>(elements, {op.from.data()}), [&](auto size) {
      constexpr int kSize = decltype(size)::value;
      const std::int64_t packs = elements / kSize;
      // Enough blocks to fill the GPU a few times; each finds what it can before it tells others.
      const int most = 16 * device_attribute(cudaDevAttrMultiProcessorCount);
      const int blocks = std::min(ceil_divide(packs, kThreads * kAtOnce), most);
      start({"find_largest", blocks, kThreads, stream}, find_largest<T, kSize>,
            op.from.as<const T>(), packs, largest);
    });
  });
}

void launch(const EncodeTensor& op, cudaStream_t stream) {
  expect(op.codes != nullptr || op.transposed != nullptr, "encode: nobody wants codes");
  const Format format = (op.codes != nullptr ? op.codes : op.transposed)->format();
  expect(format == Format(DType::Fp8), "encode: the format has no codes that share a scale");
  with_element(op.from.format(),
               [&](auto element) { launch_codes<decltype(element)>(op, stream); });
}

}  // namespace vramfit
