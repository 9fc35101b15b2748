#pragma once

#include "kernels/cuda/base/dispatch.cuh"
#include "model/config/rope.h"
#include "model/ops/attention_ops.h"

// The parts of attention in fp32: tiles of kTile tokens in shared memory, and products of them
// in the registers of 16 × 16 threads. Thread (y, x) has kRows rows, y · kRows onwards, of every
// product.

namespace vramfit::gpu {

inline constexpr int kSide = 16;
inline constexpr int kTileThreads = kSide * kSide;

/// Tiles of kTile tokens with heads of up to kWidth elements: wider heads, fewer tokens.
template <int kTile_, int kWidth_>
struct TileSize {
  static constexpr int kTile = kTile_;
  static constexpr int kWidth = kWidth_;
  static constexpr int kRows = kTile / kSide;      ///< of a product that a thread has
  static constexpr int kColumns = kWidth / kSide;  ///< of a (tile, width) product
  /// Four floats more than a row has: neighbouring rows then start in other banks.
  static constexpr int kStep = kWidth + 4;
  static constexpr int kScoreStep = kTile + 4;
  static constexpr int kTileFloats = kTile * kStep;
  static constexpr int kScoreFloats = kTile * kScoreStep;
};

/// Rows of one head within (N, (a + 2k)·d) or (N, a·d).
struct HeadRows {
  const float* first;
  std::int64_t step;  ///< from a token's row to the next one's
};

__device__ inline int tile_row() { return static_cast<int>(threadIdx.x) / kSide; }
__device__ inline int tile_column() { return static_cast<int>(threadIdx.x) % kSide; }

/// Tokens [first, first + kTile) of a head; zeros past its last token and its width. The
/// caller places barriers.
template <typename Size>
__device__ void load_tile(float* tile, HeadRows head, int first, int seq, int width) {
  const bool packed = width % 4 == 0 && head.step % 4 == 0 &&
                      reinterpret_cast<std::uintptr_t>(head.first) % 16 == 0;
  constexpr int kPacks = Size::kWidth / 4;
  for (int i = static_cast<int>(threadIdx.x); i < Size::kTile * kPacks; i += kTileThreads) {
    const int token = i / kPacks;
    const int column = i % kPacks * 4;
    const float* from = head.first + (first + token) * head.step + column;
    float4 values = {0, 0, 0, 0};
    if (first + token < seq && column < width) {
      if (packed) {
        values = *reinterpret_cast<const float4*>(from);
      } else {
        values.x = from[0];
        if (column + 1 < width) values.y = from[1];
        if (column + 2 < width) values.z = from[2];
        if (column + 3 < width) values.w = from[3];
      }
    }
    *reinterpret_cast<float4*>(tile + token * Size::kStep + column) = values;
  }
}

/// (kTile, kTile) scores: a thread has its rows against columns x, x + 16, …
template <typename Size>
struct Scores {
  float values[Size::kRows][Size::kRows];

  __device__ static int row(int r) { return tile_row() * Size::kRows + r; }
  __device__ static int column(int c) { return tile_column() + c * kSide; }

  /// rows · columnsᵀ, both (kTile, width).
  __device__ void multiply(const float* rows, const float* columns, int width) {
    for (auto& line : values) {
      for (float& value : line) value = 0;
    }
    for (int k = 0; k < width; k += 4) {
      float4 a[Size::kRows];
      float4 b[Size::kRows];
#pragma unroll
      for (int i = 0; i < Size::kRows; ++i) {
        a[i] = *reinterpret_cast<const float4*>(rows + row(i) * Size::kStep + k);
        b[i] = *reinterpret_cast<const float4*>(columns + column(i) * Size::kStep + k);
      }
#pragma unroll
      for (int r = 0; r < Size::kRows; ++r) {
#pragma unroll
        for (int c = 0; c < Size::kRows; ++c) {
          values[r][c] += a[r].x * b[c].x;
          values[r][c] += a[r].y * b[c].y;
          values[r][c] += a[r].z * b[c].z;
          values[r][c] += a[r].w * b[c].w;
        }
      }
    }
  }

  /// To shared memory, transposed: (columns, rows), as Product::add reads it.
  __device__ void store_transposed(float* shared) const {
#pragma unroll
    for (int c = 0; c < Size::kRows; ++c) {
#pragma unroll
      for (int r = 0; r < Size::kRows; ++r) {
        shared[column(c) * Size::kScoreStep + row(r)] = values[r][c];
      }
    }
  }
};

/// (kTile, kWidth): a thread has its rows against columns 4x … 4x + 3, 64 further on, …
template <typename Size>
struct Product {
  float values[Size::kRows][Size::kColumns];

  __device__ static int row(int r) { return tile_row() * Size::kRows + r; }
  __device__ static int column(int c) { return c / 4 * 4 * kSide + tile_column() * 4 + c % 4; }

  __device__ void clear() {
    for (auto& line : values) {
      for (float& value : line) value = 0;
    }
  }

  /// += leftᵀ · right; left: (kTile, kTile) as Scores::store_transposed leaves it, right: a tile.
  __device__ void add(const float* left, const float* right) {
#pragma unroll 4
    for (int m = 0; m < Size::kTile; ++m) {
      float a[Size::kRows];
#pragma unroll
      for (int r = 0; r < Size::kRows; ++r) a[r] = left[m * Size::kScoreStep + row(r)];
#pragma unroll
      for (int c = 0; c < Size::kColumns; c += 4) {
        const float4 b = *reinterpret_cast<const float4*>(right + m * Size::kStep + column(c));
#pragma unroll
        for (int r = 0; r < Size::kRows; ++r) {
          values[r][c] += a[r] * b.x;
          values[r][c + 1] += a[r] * b.y;
          values[r][c + 2] += a[r] * b.z;
          values[r][c + 3] += a[r] * b.w;
        }
      }
    }
  }

  /// Row r times factor(r) to the tokens from `first` on.
  template <typename Factor>
  __device__ void store(float* to, std::int64_t step, int first, int seq, int width,
                        const Factor& factor) const {
#pragma unroll
    for (int r = 0; r < Size::kRows; ++r) {
      const int token = first + row(r);
      if (token >= seq) continue;
      const float by = factor(r);
#pragma unroll
      for (int c = 0; c < Size::kColumns; ++c) {
        if (column(c) < width) to[token * step + column(c)] = values[r][c] * by;
      }
    }
  }
};

/// One head of one sequence within qkv, and the same of its gradient.
struct AttentionHeads {
  int seq;
  int heads;
  int kv_heads;
  int head_dim;

  __device__ std::int64_t qkv_step() const { return std::int64_t{heads + 2 * kv_heads} * head_dim; }
  __device__ std::int64_t out_step() const { return std::int64_t{heads} * head_dim; }
  __device__ int group() const { return heads / kv_heads; }

  __device__ std::int64_t query_at(std::int64_t b, int head) const {
    return b * seq * qkv_step() + std::int64_t{head} * head_dim;
  }
  __device__ std::int64_t key_at(std::int64_t b, int kv_head) const {
    return query_at(b, heads + kv_head);
  }
  __device__ std::int64_t value_at(std::int64_t b, int kv_head) const {
    return query_at(b, heads + kv_heads + kv_head);
  }
  __device__ std::int64_t out_at(std::int64_t b, int head) const {
    return b * seq * out_step() + std::int64_t{head} * head_dim;
  }
  /// Of statistics, (B, a, T).
  __device__ std::int64_t row_at(std::int64_t b, int head) const {
    return (b * heads + head) * seq;
  }
};

inline AttentionHeads heads_of(const AttentionShape& shape) {
  expect(shape.head_dim <= kMaxHeadDim && shape.heads % shape.kv_heads == 0,
         "attention: heads in whole groups, at most kMaxHeadDim wide");
  return {static_cast<int>(shape.seq), static_cast<int>(shape.heads),
          static_cast<int>(shape.kv_heads), static_cast<int>(shape.head_dim)};
}

/// Calls `body` with a TileSize that fits the heads.
template <typename Body>
void with_tile_size(std::int64_t head_dim, const Body& body) {
  if (head_dim <= 64) {
    body(TileSize<64, 64>{});
  } else if (head_dim <= 128) {
    body(TileSize<64, 128>{});
  } else {
    body(TileSize<32, 256>{});
  }
}

}  // namespace vramfit::gpu
