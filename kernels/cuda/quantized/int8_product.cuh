#pragma once

#include <algorithm>

#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/base/warpgroup.cuh"

// x Wᵀ of int8 on sm_90, whose tensor cores read both sides from shared memory. Blocks stay for the
// whole product, one on each multiprocessor: one warp has the copy engine bring stages of tile
// after tile, two warpgroups multiply half a tile's rows each. What becomes of a tile's sums an
// epilogue knows:
//   int2 halves(int column) const;  // where the rows of W begin that a tile's two halves are
//   void write(int row, int column, const int (&sums)[128]) const;  // of the lane's two rows
// A lane has, of each 8 of a tile's 256 columns, two neighbours in rows `row` and `row` + 8: sums
// 4i and 4i + 1 are columns 8i + 2 (lane % 4) and the next of the first row, 4i + 2 and 4i + 3 of
// the second.

namespace vramfit::gpu {

class Int8Product {
 public:
  static constexpr int kTileRows = 128;
  static constexpr int kTileColumns = 256;
  static constexpr int kHalfColumns = kTileColumns / 2;
  static constexpr int kSums = 128;       ///< a lane's, of a tile
  static constexpr int kMultiplying = 2;  ///< warpgroups
  static constexpr int kThreads = (1 + kMultiplying) * kWarpgroup;
  static constexpr int kStages = 4;
  static constexpr int kXBytes = kTileRows * kSwizzledBytes;
  static constexpr int kHalfBytes = kHalfColumns * kSwizzledBytes;
  static constexpr int kStageBytes = kXBytes + 2 * kHalfBytes;
  static constexpr std::size_t kSharedBytes =
      std::size_t{kStages} * kStageBytes + kSwizzleAlignment;
  /// Registers that a thread of the copying warpgroup keeps, and of the others takes.
  static constexpr int kCopyingRegisters = 40;
  static constexpr int kMultiplyingRegisters = 232;
  static_assert((kCopyingRegisters + kMultiplying * kMultiplyingRegisters) * kWarpgroup <= 65536);

  struct Tiles {
    int high;
    int wide;
    int stages;

    /// Rows and columns of the result where the tile begins: bands of kTilesHigh, column by column,
    /// so that blocks at work at a time share rows of both sides.
    __device__ int2 first(int tile) const {
      constexpr int kTilesHigh = 32;
      const int band = tile / (kTilesHigh * wide);
      const int height = min(kTilesHigh, high - band * kTilesHigh);
      const int within = tile - band * kTilesHigh * wide;
      return {(band * kTilesHigh + within % height) * kTileRows, within / height * kTileColumns};
    }
  };

  struct Barriers {
    std::uint64_t full[kStages];
    std::uint64_t empty[kStages];
  };

  /// One thread, before all others of the block are let past a barrier.
  __device__ static void make(Barriers& barriers) {
    for (int slot = 0; slot < kStages; ++slot) {
      make_barrier(barriers.full[slot], 1);
      make_barrier(barriers.empty[slot], kMultiplying * kWarpgroup / kWarp);
    }
    fence_barriers();
  }

  /// One thread.
  template <typename Epilogue>
  __device__ static void copy(const CUtensorMap& x, const CUtensorMap& weight,
                              const Epilogue& epilogue, const Tiles& tiles, std::uint8_t* stages,
                              Barriers& barriers) {
    Turn turn;
    for (int tile = static_cast<int>(blockIdx.x); tile < tiles.high * tiles.wide;
         tile += static_cast<int>(gridDim.x)) {
      const int2 first = tiles.first(tile);
      const int2 halves = epilogue.halves(first.y);
      for (int stage = 0; stage < tiles.stages; ++stage, turn.next()) {
        wait(barriers.empty[turn.slot], turn.phase ^ 1);
        std::uint8_t* to = stages + turn.slot * kStageBytes;
        std::uint64_t& full = barriers.full[turn.slot];
        expect_bytes(full, kStageBytes);
        copy_box(to, x, stage * kSwizzledBytes, first.x, full);
        copy_box(to + kXBytes, weight, stage * kSwizzledBytes, halves.x, full);
        copy_box(to + kXBytes + kHalfBytes, weight, stage * kSwizzledBytes, halves.y, full);
      }
    }
  }

  /// All threads of the warpgroups that multiply.
  template <typename Epilogue>
  __device__ static void multiply(const Epilogue& epilogue, const Tiles& tiles,
                                  const std::uint8_t* stages, Barriers& barriers) {
    constexpr int kGroupRows = kTileRows / kMultiplying;
    const int group = static_cast<int>(threadIdx.x) / kWarpgroup - 1;
    const int thread = static_cast<int>(threadIdx.x) % kWarpgroup;
    const auto free_slot = [&](int slot) {
      if (thread % kWarp == 0) arrive(barriers.empty[slot]);
    };
    Turn turn;
    for (int tile = static_cast<int>(blockIdx.x); tile < tiles.high * tiles.wide;
         tile += static_cast<int>(gridDim.x)) {
      int sums[kSums];
      int previous = 0;
      for (int stage = 0; stage < tiles.stages; ++stage, turn.next()) {
        wait(barriers.full[turn.slot], turn.phase);
        const std::uint8_t* slot = stages + turn.slot * kStageBytes;
        const std::uint64_t x = swizzled_matrix(slot + group * kGroupRows * kSwizzledBytes);
        const std::uint64_t weight = swizzled_matrix(slot + kXBytes);
        begin_products(sums);
#pragma unroll
        for (int k = 0; k < kSwizzledBytes / kProductBytes; ++k) {
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
      epilogue.write(row, first.y, sums);
    }
  }

 private:
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
};

template <typename Epilogue>
__global__ void __launch_bounds__(Int8Product::kThreads, 1)
    int8_product(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap weight,
                 const Epilogue epilogue, const Int8Product::Tiles tiles) {
  __shared__ Int8Product::Barriers barriers;
  std::uint8_t* stages = swizzle_aligned(dynamic_shared<std::uint8_t>());
  if (threadIdx.x == 0) Int8Product::make(barriers);
  __syncthreads();
  if (threadIdx.x < kWarpgroup) {
    release_registers<Int8Product::kCopyingRegisters>();
    if (threadIdx.x == 0) Int8Product::copy(x, weight, epilogue, tiles, stages, barriers);
  } else {
    take_registers<Int8Product::kMultiplyingRegisters>();
    Int8Product::multiply(epilogue, tiles, stages, barriers);
  }
}

/// x: (rows, depth), weight: (columns, depth), of which rows are multiples of 16 bytes.
template <typename Epilogue>
void launch_int8_product(const Tensor& x, const Tensor& weight, const Epilogue& epilogue,
                         cudaStream_t stream) {
  static const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  const auto rows = static_cast<int>(x.shape()[0]);
  const auto columns = static_cast<int>(weight.stored()[0]);
  const auto depth = static_cast<int>(weight.stored()[1]);
  const Int8Product::Tiles tiles{ceil_divide(rows, Int8Product::kTileRows),
                                 ceil_divide(columns, Int8Product::kTileColumns),
                                 ceil_divide(depth, kSwizzledBytes)};
  const CUtensorMap x_boxes = boxes_of(x.data(), rows, depth, Int8Product::kTileRows);
  const CUtensorMap weight_boxes =
      boxes_of(weight.data(), columns, depth, Int8Product::kHalfColumns);
  start({"linear", static_cast<unsigned>(std::min(multiprocessors, tiles.high * tiles.wide)),
         Int8Product::kThreads, stream, Int8Product::kSharedBytes},
        int8_product<Epilogue>, x_boxes, weight_boxes, epilogue, tiles);
}

}  // namespace vramfit::gpu
