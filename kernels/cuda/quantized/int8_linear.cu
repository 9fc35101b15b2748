#include "kernels/cuda/base/tensor_core.cuh"
#include "kernels/cuda/quantized/int8_epilogue.cuh"
#include "kernels/cuda/quantized/quantized_linear.h"

// A product of int8 rows and columns on tensor cores. cuBLASLt writes such sums as int32 or int8
// alone; here they are scaled where they are, in registers.

namespace vramfit {
namespace {

using namespace gpu;

// A thread block's tile of y, and the bytes of each row that a stage of the pipeline holds.
constexpr int kTileRows = 128;
constexpr int kTileColumns = 128;
constexpr int kDepth = 128;
constexpr int kStages = 3;
constexpr int kThreads = 256;
// Warps stand 2 x 4 over the tile.
constexpr int kWarpRows = kTileRows / 2;
constexpr int kWarpColumns = kTileColumns / 4;
// A tensor core's product: 16 rows, 8 columns, 32 deep.
constexpr int kBlockRows = kWarpRows / 16;
constexpr int kBlockColumns = kWarpColumns / 8;
constexpr int kChunk = 16;  // bytes that are copied and read at once
constexpr int kRowChunks = kDepth / kChunk;
constexpr int kStageBytes = (kTileRows + kTileColumns) * kDepth;

/// Where chunk `chunk` of a tile's row lies: permuted, so that eight rows' are in different banks.
__device__ int place(int row, int chunk) {
  return row * kDepth + (chunk ^ (row % kRowChunks)) * kChunk;
}

/// Begins to copy a tile's rows of one stage.
template <int kRows>
__device__ void copy_tile(std::uint8_t* shared, const std::int8_t* matrix, std::int64_t first_row,
                          std::int64_t rows, std::int64_t depth, std::int64_t first_byte) {
#pragma unroll
  for (int i = 0; i < kRows * kRowChunks / kThreads; ++i) {
    const int at = static_cast<int>(threadIdx.x) + i * kThreads;
    const int row = at / kRowChunks;
    const int chunk = at % kRowChunks;
    const std::int64_t byte = first_byte + chunk * kChunk;
    const bool there = first_row + row < rows && byte < depth;
    const std::int8_t* from = there ? matrix + (first_row + row) * depth + byte : matrix;
    copy_async(shared + place(row, chunk), from, there);
  }
}

/// Four 8 x 16 byte matrices, one row's address from each lane.
__device__ void load_matrices(std::uint32_t (&to)[4], const std::uint8_t* shared) {
  const auto from = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from));
}

using Sums = int[kBlockRows][kBlockColumns][4];

/// A stage's products, of the warp's part of the tile.
__device__ void multiply_stage(Sums& sums, const std::uint8_t* x, const std::uint8_t* weight,
                               int first_row, int first_column, int lane) {
#pragma unroll
  for (int k = 0; k < kDepth / 32; ++k) {
    std::uint32_t a[kBlockRows][4];
    std::uint32_t b[kBlockColumns / 2][4];
#pragma unroll
    for (int r = 0; r < kBlockRows; ++r) {
      // Lanes 0 to 15: rows of the first 16 bytes; 16 to 31: of the second.
      load_matrices(a[r], x + place(first_row + r * 16 + lane % 16, 2 * k + lane / 16));
    }
#pragma unroll
    for (int c = 0; c < kBlockColumns / 2; ++c) {
      // Of two neighbouring blocks of columns: each one's first 16 bytes, then its second.
      const int column = first_column + c * 16 + lane / 16 * 8 + lane % 8;
      load_matrices(b[c], weight + place(column, 2 * k + lane / 8 % 2));
    }
#pragma unroll
    for (int r = 0; r < kBlockRows; ++r) {
#pragma unroll
      for (int c = 0; c < kBlockColumns; ++c) {
        multiply_add(sums[r][c], a[r], b[c / 2][c % 2 * 2], b[c / 2][c % 2 * 2 + 1], std::int8_t{});
      }
    }
  }
}

template <typename T>
struct Int8Linear {
  const std::int8_t* x;
  const std::int8_t* weight;
  std::int64_t depth;
  Int8Epilogue<T> epilogue;
};

template <typename T>
__global__ void __launch_bounds__(kThreads) int8_linear(const Int8Linear<T> l) {
  auto* shared = dynamic_shared<std::uint8_t>();
  const std::int64_t first_row = std::int64_t{blockIdx.x} * kTileRows;
  const std::int64_t first_column = std::int64_t{blockIdx.y} * kTileColumns;
  const int stages = static_cast<int>((l.depth + kDepth - 1) / kDepth);
  const auto copy_stage = [&](int stage) {
    if (stage < stages) {
      std::uint8_t* to = shared + stage % kStages * kStageBytes;
      const std::int64_t byte = std::int64_t{stage} * kDepth;
      copy_tile<kTileRows>(to, l.x, first_row, l.epilogue.values.rows, l.depth, byte);
      copy_tile<kTileColumns>(to + kTileRows * kDepth, l.weight, first_column,
                              l.epilogue.values.columns, l.depth, byte);
    }
    commit_copies();
  };
  for (int stage = 0; stage < kStages - 1; ++stage) copy_stage(stage);

  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp_row = warp / 4 * kWarpRows;
  const int warp_column = warp % 4 * kWarpColumns;
  Sums sums = {};
  for (int stage = 0; stage < stages; ++stage) {
    wait_for_copies<kStages - 2>();
    __syncthreads();
    copy_stage(stage + kStages - 1);
    const std::uint8_t* x = shared + stage % kStages * kStageBytes;
    multiply_stage(sums, x, x + kTileRows * kDepth, warp_row, warp_column, lane);
  }

#pragma unroll
  for (int r = 0; r < kBlockRows; ++r) {
    const int row = static_cast<int>(first_row) + warp_row + r * 16 + lane / 4;
    static_assert(kBlockColumns == kQuadGroups);
    int own[4 * kQuadGroups];
#pragma unroll
    for (int i = 0; i < 4 * kQuadGroups; ++i) own[i] = sums[r][i / 4][i % 4];
    l.epilogue.write(row, static_cast<int>(first_column) + warp_column, own);
  }
}

}  // namespace

void launch_int8_linear(const LinearForward& op, cudaStream_t stream) {
  if (has_warpgroups()) return launch_int8_warpgroups(op, stream);
  launch_int8_warps(op, stream);
}

bool launch_int8_mlp_up(const MlpUpForward& op, cudaStream_t stream) {
  return has_warpgroups() && launch_int8_warpgroups(op, stream);
}

void launch_int8_warps(const LinearForward& op, cudaStream_t stream) {
  with_element(op.y.format(), [&](auto element) {
    using T = decltype(element);
    const Int8Linear<T> linear{op.x.as<const std::int8_t>(), op.weight.as<const std::int8_t>(),
                               op.weight.stored()[1], int8_epilogue<T>(op)};
    const dim3 grid(
        static_cast<unsigned>(ceil_divide(linear.epilogue.values.rows, kTileRows)),
        static_cast<unsigned>(ceil_divide(linear.epilogue.values.columns, kTileColumns)));
    start({"linear", grid, kThreads, stream, std::size_t{kStages} * kStageBytes}, int8_linear<T>,
          linear);
  });
}

}  // namespace vramfit
