#pragma once

#include "kernels/cuda/attention/decode_split.cuh"
#include "kernels/cuda/base/tensor_core.cuh"

// Decoding on tensor cores: a warp takes 16 positions of 16 bits at once with all query heads that
// share them. A sum does not care for the order of its elements, so a lane multiplies the 16 bytes
// that it loaded as they are, in the same order of both factors.

namespace vramfit::gpu {

inline constexpr int kTilePositions = 16;
inline constexpr int kTileHeads = 8;

struct TileLane {
  int g = static_cast<int>(threadIdx.x) % kWarp / 4;
  int t = static_cast<int>(threadIdx.x) % 4;
};

/// What a lane has of a tile: of keys of positions g and g + 8 every 32 elements' t-th eight; of
/// values of positions 2t, 2t + 1, 2t + 8 and 2t + 9 every 64 elements' g-th eight. What is past
/// the split's end is its last position again.
template <typename T, int kDim>
struct CacheTile {
  uint4 keys[2][kDim / 32];
  uint4 values[4][kDim / 64];

  /// From position `base` on. Values are found, to be asked for later.
  __device__ void load_keys(const Decode<T, T>& d, const DecodeBlock& own, const Split& positions,
                            int base) {
    const auto vector = [&](const T* cache, int position) {
      return cache + d.places(own.b, min(position, positions.end - 1), own.kv_head) * kDim;
    };
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const T* key = vector(d.keys, base + key_position(i));
#pragma unroll
      for (int c = 0; c < kDim / 32; ++c) keys[i][c] = eight_of(key + key_column(c));
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) value_[i] = vector(d.values, base + value_position(i));
  }
  __device__ void load_values() {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int c = 0; c < kDim / 64; ++c) values[i][c] = eight_of(value_[i] + value_column(c));
    }
  }
  /// Replaces what stands for the position after `before` ones of the tile and for those past it.
  __device__ void put_last(int before, const T* key, const T* value) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (key_position(i) < before) continue;
#pragma unroll
      for (int c = 0; c < kDim / 32; ++c) keys[i][c] = eight_of(key + key_column(c));
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (value_position(i) < before) continue;
#pragma unroll
      for (int c = 0; c < kDim / 64; ++c) values[i][c] = eight_of(value + value_column(c));
    }
  }

  __device__ static int key_column(int c) { return 32 * c + 8 * TileLane().t; }

 private:
  __device__ static int key_position(int i) { return TileLane().g + 8 * i; }
  __device__ static int value_position(int i) { return 2 * TileLane().t + i % 2 + i / 2 * 8; }
  __device__ static int value_column(int c) { return 64 * c + 8 * TileLane().g; }
  __device__ static uint4 eight_of(const T* from) { return *reinterpret_cast<const uint4*>(from); }

  const T* value_[4];
};

/// Weights of positions 2t, 2t + 1, 2t + 8 and 2t + 9, for the lane's head g: rounded to T, and
/// what rounding loses.
struct TileWeights {
  std::uint32_t kept[2];
  std::uint32_t lost[2];
};

/// Softmax over the warp's positions: lane 4g + t has head g's. And unnormalised outputs of heads
/// 2t and 2t + 1: of every 64 elements the g-th eight, in pairs.
template <typename T, int kDim>
class TileState {
 public:
  /// The weights of a tile's values. `query`: of the lane's head; `left`: positions of the split
  /// from the tile's first on, at least one.
  __device__ TileWeights weigh(const CacheTile<T, kDim>& tile, const T* query, float scale,
                               int left) {
    float scores[2][4] = {};
#pragma unroll
    for (int c = 0; c < kDim / 32; ++c) {
      const uint4 q = *reinterpret_cast<const uint4*>(query + tile.key_column(c));
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const uint4& k = tile.keys[i][c];
        multiply_add(scores[i], {q.x, 0, q.y, 0}, k.x, k.y, T{});
        multiply_add(scores[i], {q.z, 0, q.w, 0}, k.z, k.w, T{});
      }
    }
    exponentiate(scores, scale, left);
    TileWeights weights;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float kept[2];
      weights.kept[i] = packed(scores[i], T{});
      unpack(weights.kept[i], kept, T{});
      const float lost[2] = {scores[i][0] - kept[0], scores[i][1] - kept[1]};
      weights.lost[i] = packed(lost, T{});
    }
    return weights;
  }

  __device__ void add(const TileWeights& weights, const CacheTile<T, kDim>& tile) {
#pragma unroll
    for (int c = 0; c < kDim / 64; ++c) {
      const auto add_pair = [&](int w, std::uint32_t v0, std::uint32_t v1, std::uint32_t v2,
                                std::uint32_t v3) {
        const std::uint32_t pair[4] = {__byte_perm(v0, v1, 0x5410), __byte_perm(v0, v1, 0x7632),
                                       __byte_perm(v2, v3, 0x5410), __byte_perm(v2, v3, 0x7632)};
        multiply_add(out_[c][w], pair, weights.kept[0], weights.kept[1], T{});
        multiply_add(out_[c][w], pair, weights.lost[0], weights.lost[1], T{});
      };
      const auto& v = tile.values;
      add_pair(0, v[0][c].x, v[1][c].x, v[2][c].x, v[3][c].x);
      add_pair(1, v[0][c].y, v[1][c].y, v[2][c].y, v[3][c].y);
      add_pair(2, v[0][c].z, v[1][c].z, v[2][c].z, v[3][c].z);
      add_pair(3, v[0][c].w, v[1][c].w, v[2][c].w, v[3][c].w);
    }
  }

  /// Leaves the heads' unnormalised outputs, (heads, d), and of each the warp's largest score and
  /// sum.
  __device__ void store(int heads, float* outputs, WarpStates* states) {
    sum_ += __shfl_xor_sync(kWholeWarp, sum_, 1);
    sum_ += __shfl_xor_sync(kWholeWarp, sum_, 2);
    const TileLane lane;
    if (lane.t == 0 && lane.g < heads) {
      const int warp = static_cast<int>(threadIdx.x) / kWarp;
      states[lane.g].largest[warp] = largest_;
      states[lane.g].sum[warp] = sum_;
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (2 * lane.t + h >= heads) continue;
      float* out = outputs + (2 * lane.t + h) * kDim + 8 * lane.g;
#pragma unroll
      for (int c = 0; c < kDim / 64; ++c) {
#pragma unroll
        for (int w = 0; w < 4; w += 2) {
          *reinterpret_cast<float4*>(out + 64 * c + 2 * w) = {
              out_[c][w][h], out_[c][w][2 + h], out_[c][w + 1][h], out_[c][w + 1][2 + h]};
        }
      }
    }
  }

 private:
  /// Scores to weights, as powers of two.
  __device__ void exponentiate(float (&scores)[2][4], float scale, int left) {
    float largest = largest_;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        scores[i][j] = 8 * i + 2 * TileLane().t + j < left ? scores[i][j] * scale : kLowest;
        largest = fmaxf(largest, scores[i][j]);
      }
    }
    largest = fmaxf(largest, __shfl_xor_sync(kWholeWarp, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(kWholeWarp, largest, 2));
    // Not the first tile: whole warps exchange factors.
    if (__any_sync(kWholeWarp, largest_ != kLowest)) rescale(power_of_two(largest_ - largest));
    largest_ = largest;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        scores[i][j] = power_of_two(scores[i][j] - largest);
        sum_ += scores[i][j];
      }
    }
  }
  /// `factor`: of the lane's head.
  __device__ void rescale(float factor) {
    sum_ *= factor;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float other = __shfl_sync(kWholeWarp, factor, 4 * (2 * TileLane().t + h));
#pragma unroll
      for (int c = 0; c < kDim / 64; ++c) {
#pragma unroll
        for (int w = 0; w < 4; ++w) {
          out_[c][w][h] *= other;
          out_[c][w][2 + h] *= other;
        }
      }
    }
  }

  float largest_ = kLowest;
  float sum_ = 0;
  float out_[kDim / 64][4][4] = {};  ///< of two elements each: the first of two heads, the second
};

}  // namespace vramfit::gpu
