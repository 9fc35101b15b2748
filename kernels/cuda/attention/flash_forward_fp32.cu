#include <cmath>

#include "kernels/cuda/attention/flash_tiles.cuh"
#include "kernels/cuda/base/launch.h"

namespace vramfit {
namespace {

using namespace gpu;

struct Forward {
  const float* qkv;
  float* out;
  float* log_sum_exp;  ///< null where it is not asked for
  AttentionHeads heads;
  int tiles;  ///< of queries
  float scale;
};

/// Over the 16 threads that share rows.
__device__ float row_max(float value) { return warp_max<kSide>(value); }
__device__ float row_sum(float value) { return warp_sum<kSide>(value); }

/// One block per tile of queries of one head of one sequence; it goes along the keys up to its
/// diagonal, and rescales what it has when a row's largest score grows (Dao et al. 2022).
template <typename Size>
__global__ void __launch_bounds__(kTileThreads) forward(const Forward f) {
  auto* queries = dynamic_shared<float>();
  float* keys = queries + Size::kTileFloats;  // then, in the same place, values
  float* weights = keys + Size::kTileFloats;
  const AttentionHeads& heads = f.heads;
  // The longest first, so that no late block is a long one.
  const int tile = f.tiles - 1 - static_cast<int>(blockIdx.x) % f.tiles;
  const int index = static_cast<int>(blockIdx.x) / f.tiles;
  const int head = index % heads.heads;
  const std::int64_t b = index / heads.heads;
  const int kv_head = head / heads.group();
  const int first = tile * Size::kTile;
  const HeadRows key_rows = {f.qkv + heads.key_at(b, kv_head), heads.qkv_step()};
  const HeadRows value_rows = {f.qkv + heads.value_at(b, kv_head), heads.qkv_step()};

  load_tile<Size>(queries, {f.qkv + heads.query_at(b, head), heads.qkv_step()}, first, heads.seq,
                  heads.head_dim);
  Product<Size> out;
  out.clear();
  float largest[Size::kRows];
  float sum[Size::kRows];
  for (int r = 0; r < Size::kRows; ++r) {
    largest[r] = kLowest;
    sum[r] = 0;
  }
  for (int key = 0; key <= first; key += Size::kTile) {
    __syncthreads();
    load_tile<Size>(keys, key_rows, key, heads.seq, heads.head_dim);
    __syncthreads();
    Scores<Size> scores;
    scores.multiply(queries, keys, heads.head_dim);
#pragma unroll
    for (int r = 0; r < Size::kRows; ++r) {
      float row_largest = largest[r];
#pragma unroll
      for (int c = 0; c < Size::kRows; ++c) {
        const bool counts = key + scores.column(c) <= first + scores.row(r);
        scores.values[r][c] = counts ? scores.values[r][c] * f.scale : -INFINITY;
        row_largest = fmaxf(row_largest, scores.values[r][c]);
      }
      row_largest = row_max(row_largest);
      float row = 0;
#pragma unroll
      for (int c = 0; c < Size::kRows; ++c) {
        scores.values[r][c] = expf(scores.values[r][c] - row_largest);
        row += scores.values[r][c];
      }
      const float factor = expf(largest[r] - row_largest);
      sum[r] = sum[r] * factor + row_sum(row);
      largest[r] = row_largest;
#pragma unroll
      for (int c = 0; c < Size::kColumns; ++c) out.values[r][c] *= factor;
    }
    scores.store_transposed(weights);
    __syncthreads();
    load_tile<Size>(keys, value_rows, key, heads.seq, heads.head_dim);
    __syncthreads();
    out.add(weights, keys);
  }
  out.store(f.out + heads.out_at(b, head), heads.out_step(), first, heads.seq, heads.head_dim,
            [&](int r) { return 1.0F / sum[r]; });
  if (f.log_sum_exp == nullptr || tile_column() != 0) return;
  for (int r = 0; r < Size::kRows; ++r) {
    const int token = first + Scores<Size>::row(r);
    if (token < heads.seq) {
      f.log_sum_exp[heads.row_at(b, head) + token] = largest[r] + logf(sum[r]);
    }
  }
}

}  // namespace

void launch(const FlashForwardFp32& flash, cudaStream_t stream) {
  const AttentionForward& op = flash.op;
  const AttentionShape& shape = op.shape;
  expect(op.qkv.format() == DType::Fp32, "attention: this kernel is for fp32 alone");
  with_tile_size(shape.head_dim, [&](auto size) {
    using Size = decltype(size);
    const int tiles = ceil_divide(shape.seq, Size::kTile);
    const Forward arguments = {op.qkv.as<float>(),
                               op.out.as<float>(),
                               op.log_sum_exp == nullptr ? nullptr : op.log_sum_exp->as<float>(),
                               heads_of(shape),
                               tiles,
                               1.0F / std::sqrt(static_cast<float>(shape.head_dim))};
    const std::size_t shared = sizeof(float) * (2 * Size::kTileFloats + Size::kScoreFloats);
    start({"attention_forward", static_cast<unsigned>(tiles * shape.heads * shape.batch),
           kTileThreads, stream, shared},
          forward<Size>, arguments);
  });
}

}  // namespace vramfit
