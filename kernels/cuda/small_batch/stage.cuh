#pragma once

#include <cstdint>

#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/base/tensor_core.cuh"

// A stage of a weight in shared memory, a lane's place in it, and the sums it adds to.

namespace vramfit::gpu {

inline constexpr int kTileRows = 16;
inline constexpr int kRowBytes = 64;
inline constexpr int kTileBytes = kTileRows * kRowBytes;
/// Columns of a tensor core's product: rows of x that are multiplied at once.
inline constexpr int kColumns = 8;
/// Of a block; which is faster was measured for each format (docs/performance.md).
inline constexpr int kFewWarps = 8;
inline constexpr int kManyWarps = 16;

/// A lane's place in a tensor core's product, see tensor_core.cuh.
struct Place {
  int g = static_cast<int>(threadIdx.x) % kWarp / 4;
  int t = static_cast<int>(threadIdx.x) % 4;
};

/// Where stages of a step, which are neighbours in the weight's rows, stand in shared memory:
/// (16, kStages * 64) bytes.
template <int kStages>
struct StepLayout {
  static constexpr int kHigh = 8 * kStages * kRowBytes;  ///< from row g to row g + 8

  /// Of the `chunk`th 16 bytes that the lane's row g has in a stage of the step. Rows swap chunks,
  /// so that those of a column are in different banks: two stages' as the copy engine has it, see
  /// copy_engine.cuh.
  __device__ static int place(int stage, int chunk) {
    const Place at;
    return at.g * kStages * kRowBytes +
           16 * ((4 * stage + chunk) ^ (kStages == 2 ? at.g : at.g & 2));
  }
};

/// What a stage has in shared memory, and whose it is.
template <int kStages>
struct WeightStage {
  const std::uint8_t* step;    ///< see StepLayout
  int in_step;                 ///< which of the step's stages
  int index;                   ///< of the row's stages
  const std::uint32_t* words;  ///< of blocks' scales: one of each lane's copying
  unsigned first_block;        ///< of the row that the lane copied a word of, in the weight

  /// From a byte of a chunk of row g on; `high`: of row g + 8.
  template <typename Vector>
  __device__ Vector read(int chunk, bool high, int byte = 0) const {
    using Layout = StepLayout<kStages>;
    return *reinterpret_cast<const Vector*>(step + Layout::place(in_step, chunk) + byte +
                                            (high ? Layout::kHigh : 0));
  }
};

/// `kChains`: sums of each element, which do not wait for each other.
template <typename Sum, int kChains = 2>
struct TensorCoreSums {
  Sum values[kChains][4] = {};

  __device__ void add(const uint4& low, const uint4& high, const uint4& x, auto type) {
    multiply_add(values[0], {low.x, high.x, low.y, high.y}, x.x, x.y, type);
    multiply_add(values[kChains - 1], {low.z, high.z, low.w, high.w}, x.z, x.w, type);
  }
  __device__ Sum operator[](int i) const {
    if constexpr (kChains == 1) return values[0][i];
    return values[0][i] + values[1][i];
  }
  /// The lane's sums to their rows and columns of (16, 8).
  __device__ void store(Sum* to) const {
    const Place at;
    Sum* low = to + at.g * kColumns + 2 * at.t;
    Sum* high = low + 8 * kColumns;
    low[0] = (*this)[0];
    low[1] = (*this)[1];
    high[0] = (*this)[2];
    high[1] = (*this)[3];
  }
};

}  // namespace vramfit::gpu
