#include <algorithm>

#include "kernels/cuda/base/warpgroup.cuh"
#include "kernels/cuda/quantized/int8_epilogue.cuh"
#include "kernels/cuda/quantized/quantized_linear.h"

// The product of int8_linear.cu on sm_90, whose tensor cores read both sides from shared memory.
// Blocks stay for the whole product, one on each multiprocessor: one warp has the copy engine
// bring stages of tile after tile, two warpgroups multiply half a tile's rows each.

namespace vramfit {
namespace {

using namespace gpu;

constexpr int kTileRows = 128;
constexpr int kTileColumns = 256;
constexpr int kMultiplying = 2;  // warpgroups
constexpr int kGroupRows = kTileRows / kMultiplying;
constexpr int kThreads = (1 + kMultiplying) * kWarpgroup;
constexpr int kRowBytes = kSwizzledBytes;  // of a stage
constexpr int kStages = 4;
constexpr int kXBytes = kTileRows * kRowBytes;
constexpr int kStageBytes = kXBytes + kTileColumns * kRowBytes;
/// Tiles that blocks multiply at a time stand this high, so that they share rows of both sides.
constexpr int kTilesHigh = 16;
/// Registers that a thread of the copying warpgroup keeps, and of the others takes.
constexpr int kCopyingRegisters = 40;
constexpr int kMultiplyingRegisters = 232;
static_assert((kCopyingRegisters + kMultiplying * kMultiplyingRegisters) * kWarpgroup <= 65536);

struct Barriers {
  std::uint64_t full[kStages];
  std::uint64_t empty[kStages];
};

/// Where a block is: the stages of its tiles, one after the other, in a ring.
struct Turn {
  int slot = 0;
  unsigned phase = 0;

  __device__ void next() {
    if (++slot < kStages) return;
    slot = 0;
    phase ^= 1;
  }
};

struct Tiles {
  int high;
  int wide;
  int stages;

  /// Rows and columns of y where the tile begins: bands of kTilesHigh, column by column.
  __device__ int2 first(int tile) const {
    const int band = tile / (kTilesHigh * wide);
    const int height = min(kTilesHigh, high - band * kTilesHigh);
    const int within = tile - band * kTilesHigh * wide;
    return {(band * kTilesHigh + within % height) * kTileRows, within / height * kTileColumns};
  }
};

__device__ void copy_tiles(const CUtensorMap& x, const CUtensorMap& weight, const Tiles& tiles,
                           std::uint8_t* stages, Barriers& barriers) {
  Turn turn;
  for (int tile = static_cast<int>(blockIdx.x); tile < tiles.high * tiles.wide;
       tile += static_cast<int>(gridDim.x)) {
    const int2 first = tiles.first(tile);
    for (int stage = 0; stage < tiles.stages; ++stage, turn.next()) {
      wait(barriers.empty[turn.slot], turn.phase ^ 1);
      std::uint8_t* to = stages + turn.slot * kStageBytes;
      expect_bytes(barriers.full[turn.slot], kStageBytes);
      copy_box(to, x, stage * kRowBytes, first.x, barriers.full[turn.slot]);
      copy_box(to + kXBytes, weight, stage * kRowBytes, first.y, barriers.full[turn.slot]);
    }
  }
}

template <typename T>
__device__ void multiply_tiles(const Int8Epilogue<T>& epilogue, const Tiles& tiles,
                               const std::uint8_t* stages, Barriers& barriers) {
  const int group = static_cast<int>(threadIdx.x) / kWarpgroup - 1;
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup;
  const auto free_slot = [&](int slot) {
    if (thread % kWarp == 0) arrive(barriers.empty[slot]);
  };
  Turn turn;
  for (int tile = static_cast<int>(blockIdx.x); tile < tiles.high * tiles.wide;
       tile += static_cast<int>(gridDim.x)) {
    int sums[kTileColumns / 2];
    int previous = 0;
    for (int stage = 0; stage < tiles.stages; ++stage, turn.next()) {
      wait(barriers.full[turn.slot], turn.phase);
      const std::uint8_t* slot = stages + turn.slot * kStageBytes;
      const std::uint64_t x = swizzled_matrix(slot + group * kGroupRows * kRowBytes);
      const std::uint64_t weight = swizzled_matrix(slot + kXBytes);
      begin_products(sums);
#pragma unroll
      for (int k = 0; k < kRowBytes / kProductBytes; ++k) {
        multiply_add(sums, advanced(x, k * kProductBytes), advanced(weight, k * kProductBytes),
                     stage > 0 || k > 0);
      }
      commit_products();
      // The warp has read the stage before once no other products than these are under way.
      wait_for_products<1>(sums);
      if (stage > 0) free_slot(previous);
      previous = turn.slot;
    }
    wait_for_products<0>(sums);
    free_slot(previous);
    const int2 first = tiles.first(tile);
    const int row = first.x + group * kGroupRows + thread / kWarp * 16 + thread % kWarp / 4;
    const float2 scales = epilogue.scales(row);
#pragma unroll
    for (int i = 0; i < kTileColumns / 2; i += 4) {
      epilogue.write(row, first.y + i * 2 + thread % 4 * 2, scales, sums[i], sums[i + 1],
                     sums[i + 2], sums[i + 3]);
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads, 1)
    int8_linear(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap weight,
                const Int8Epilogue<T> epilogue, const Tiles tiles) {
  __shared__ Barriers barriers;
  std::uint8_t* stages = swizzle_aligned(dynamic_shared<std::uint8_t>());
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < kStages; ++slot) {
      make_barrier(barriers.full[slot], 1);
      make_barrier(barriers.empty[slot], kMultiplying * kWarpgroup / kWarp);
    }
    fence_barriers();
  }
  __syncthreads();
  if (threadIdx.x < kWarpgroup) {
    release_registers<kCopyingRegisters>();
    if (threadIdx.x == 0) copy_tiles(x, weight, tiles, stages, barriers);
  } else {
    take_registers<kMultiplyingRegisters>();
    multiply_tiles(epilogue, tiles, stages, barriers);
  }
}

}  // namespace

void launch_int8_warpgroups(const LinearForward& op, int multiprocessors, cudaStream_t stream) {
  const auto rows = static_cast<int>(op.x.shape()[0]);
  const auto columns = static_cast<int>(op.weight.stored()[0]);
  const auto depth = static_cast<int>(op.weight.stored()[1]);
  const Tiles tiles{ceil_divide(rows, kTileRows), ceil_divide(columns, kTileColumns),
                    ceil_divide(depth, kRowBytes)};
  with_element(op.y.format(), [&](auto element) {
    using T = decltype(element);
    const CUtensorMap x = boxes_of(op.x.data(), rows, depth, kTileRows);
    const CUtensorMap weight = boxes_of(op.weight.data(), columns, depth, kTileColumns);
    start({"linear", static_cast<unsigned>(std::min(multiprocessors, tiles.high * tiles.wide)),
           kThreads, stream, std::size_t{kStages} * kStageBytes + kSwizzleAlignment},
          int8_linear<T>, x, weight, int8_epilogue<T>(op), tiles);
  });
}

}  // namespace vramfit
