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
/// Of a block; which is faster was measured for each format (docs/decoding.md).
inline constexpr int kFewWarps = 8;
inline constexpr int kManyWarps = 16;

/// A lane's place in a tensor core's product, see tensor_core.cuh.
struct Place {
  int g = static_cast<int>(threadIdx.x) % kWarp / 4;
  int t = static_cast<int>(threadIdx.x) % 4;

  /// Where the `chunk`th 16 bytes of a stage's row g or g + 8 stand: pairs of rows swap halves, so
  /// that those of four rows are in different banks.
  __device__ int chunk(int chunk) const { return g * kRowBytes + 16 * (chunk ^ (g & 2)); }
};

/// What a stage has in shared memory, and whose it is.
struct WeightStage {
  const std::uint8_t* codes;  ///< (16, 64), see Place::chunk
  const uint2* words;         ///< (16): of blocks' scales, see ScaleWords
  int index;                  ///< of the row's stages
  int low_row;                ///< g, counted in the weight; may be beyond it
  int high_row;               ///< and g + 8

  /// The words of row g, or of g + 8.
  __device__ uint2 words_of(bool high) const { return words[Place().g + (high ? 8 : 0)]; }
  /// From the place of row g's; `high`: of row g + 8.
  template <typename Vector>
  __device__ Vector read(int place, bool high) const {
    return *reinterpret_cast<const Vector*>(codes + place + (high ? 8 * kRowBytes : 0));
  }
};

/// `kChains`: sums of each element, which do not wait for each other.
template <typename Sum_, int kChains = 2>
struct TensorCoreSums {
  using Sum = Sum_;
  using Block = TensorCoreSums;

  Sum values[kChains][4] = {};

  /// `own`: what the lane has of x.
  __device__ void add(const uint4& low, const uint4& high, const uint4& own, auto type) {
    multiply_add(values[0], {low.x, high.x, low.y, high.y}, own.x, own.y, type);
    multiply_add(values[kChains - 1], {low.z, high.z, low.w, high.w}, own.z, own.w, type);
  }
  /// Those of a block of codes, by the scales of row g and of g + 8.
  __device__ void add_scaled(const TensorCoreSums& block, float low_scale, float high_scale) {
    values[0][0] += low_scale * block.whole(0);
    values[0][1] += low_scale * block.whole(1);
    values[0][2] += high_scale * block.whole(2);
    values[0][3] += high_scale * block.whole(3);
  }
  /// In lanes of t = 0, of the first column: of row g or of g + 8.
  __device__ Sum of_first(bool of_high) const { return whole(of_high ? 2 : 0); }
  /// The lane's sums to their rows and columns of (16, 8).
  __device__ void store(Sum* to) const {
    const Place at;
    Sum* low = to + at.g * kColumns + 2 * at.t;
    Sum* high = low + 8 * kColumns;
    low[0] = whole(0);
    low[1] = whole(1);
    high[0] = whole(2);
    high[1] = whole(3);
  }

 private:
  __device__ Sum whole(int i) const {
    if constexpr (kChains == 1) return values[0][i];
    return values[0][i] + values[1][i];
  }
};

/// What a format's products are summed in.
template <typename Stages>
using SumOf = typename Stages::Sums::Sum;

}  // namespace vramfit::gpu
