#include <cmath>

#include "kernels/cuda/attention/flash_tiles.cuh"
#include "kernels/cuda/base/launch.h"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

using namespace gpu;

// With P the probabilities and D the row sums of dO · O:
//   dP = dO Vᵀ;  dS = P · (dP − D) / √d;  dQ = dS K;  dK = dSᵀ Q;  dV = Pᵀ dO.
// P and dP are computed twice, along the keys for dQ and along the queries for dK and dV: no sum
// then depends on the order in which blocks come, and none needs an accumulator in memory. Of the
// contract's workspace only the row sums are used.

struct Backward {
  const float* qkv;
  const float* out;
  const float* dout;
  const float* log_sum_exp;  ///< (B, a, T)
  float* row_sums;           ///< (B, a, T)
  float* dqkv;
  AttentionHeads heads;
  int tiles;
  float scale;
};

/// One warp per row of one head.
__global__ void __launch_bounds__(kTileThreads) sum_rows(const Backward g, std::int64_t rows) {
  const AttentionHeads& heads = g.heads;
  const std::int64_t row =
      (std::int64_t{blockIdx.x} * kTileThreads + threadIdx.x) / kWarp;  // of (B, a, T)
  if (row >= rows) return;
  const std::int64_t t = row % heads.seq;
  const auto head = static_cast<int>(row / heads.seq % heads.heads);
  const std::int64_t b = row / heads.seq / heads.heads;
  const std::int64_t at = heads.out_at(b, head) + t * heads.out_step();
  float sum = 0;
  for (int c = static_cast<int>(threadIdx.x) % kWarp; c < heads.head_dim; c += kWarp) {
    sum += g.out[at + c] * g.dout[at + c];
  }
  sum = warp_sum(sum);
  if (threadIdx.x % kWarp == 0) g.row_sums[row] = sum;
}

/// Which tile of which head a block takes.
struct Place {
  int first;  ///< token
  int head;
  std::int64_t b;

  __device__ Place(int tile, int heads, int tiles, int tile_tokens)
      : first(tile * tile_tokens),
        head(static_cast<int>(blockIdx.x) / tiles % heads),
        b(static_cast<int>(blockIdx.x) / tiles / heads) {}
};

/// A query's share of what turns its scores into P and dS.
struct QueryRow {
  float log_sum_exp;
  float row_sum;

  __device__ float probability(float score) const { return expf(score - log_sum_exp); }
};

/// Past the last token: an infinite sum, so that every probability there is 0.
__device__ QueryRow query_row(const Backward& g, std::int64_t b, int head, int token) {
  if (token >= g.heads.seq) return {INFINITY, 0};
  const std::int64_t at = g.heads.row_at(b, head) + token;
  return {g.log_sum_exp[at], g.row_sums[at]};
}

/// One block per tile of queries; it goes along the keys up to its diagonal.
template <typename Size>
__global__ void __launch_bounds__(kTileThreads) query_gradients(const Backward g) {
  auto* queries = dynamic_shared<float>();
  float* gradients = queries + Size::kTileFloats;
  float* keys = gradients + Size::kTileFloats;
  float* values = keys + Size::kTileFloats;
  float* weights = values + Size::kTileFloats;
  const AttentionHeads& heads = g.heads;
  const Place at(g.tiles - 1 - static_cast<int>(blockIdx.x) % g.tiles, heads.heads, g.tiles,
                 Size::kTile);
  const int kv_head = at.head / heads.group();
  load_tile<Size>(queries, {g.qkv + heads.query_at(at.b, at.head), heads.qkv_step()}, at.first,
                  heads.seq, heads.head_dim);
  load_tile<Size>(gradients, {g.dout + heads.out_at(at.b, at.head), heads.out_step()}, at.first,
                  heads.seq, heads.head_dim);
  QueryRow rows[Size::kRows];
  for (int r = 0; r < Size::kRows; ++r) {
    rows[r] = query_row(g, at.b, at.head, at.first + Scores<Size>::row(r));
  }
  Product<Size> dqueries;
  dqueries.clear();
  for (int key = 0; key <= at.first; key += Size::kTile) {
    __syncthreads();
    load_tile<Size>(keys, {g.qkv + heads.key_at(at.b, kv_head), heads.qkv_step()}, key, heads.seq,
                    heads.head_dim);
    load_tile<Size>(values, {g.qkv + heads.value_at(at.b, kv_head), heads.qkv_step()}, key,
                    heads.seq, heads.head_dim);
    __syncthreads();
    Scores<Size> scores;
    Scores<Size> dscores;
    scores.multiply(queries, keys, heads.head_dim);
    dscores.multiply(gradients, values, heads.head_dim);
#pragma unroll
    for (int r = 0; r < Size::kRows; ++r) {
#pragma unroll
      for (int c = 0; c < Size::kRows; ++c) {
        const bool counts = key + scores.column(c) <= at.first + scores.row(r);
        const float p = counts ? rows[r].probability(scores.values[r][c] * g.scale) : 0.0F;
        dscores.values[r][c] = p * (dscores.values[r][c] - rows[r].row_sum);
      }
    }
    dscores.store_transposed(weights);
    __syncthreads();
    dqueries.add(weights, keys);
  }
  dqueries.store(g.dqkv + heads.query_at(at.b, at.head), heads.qkv_step(), at.first, heads.seq,
                 heads.head_dim, [&](int) { return g.scale; });
}

/// One block per tile of keys and values; it goes along the queries from its diagonal on, in every
/// query head of the group.
template <typename Size>
__global__ void __launch_bounds__(kTileThreads) key_gradients(const Backward g) {
  auto* keys = dynamic_shared<float>();
  float* values = keys + Size::kTileFloats;
  float* queries = values + Size::kTileFloats;
  float* gradients = queries + Size::kTileFloats;
  float* weights = gradients + Size::kTileFloats;
  float* dweights = weights + Size::kScoreFloats;
  const AttentionHeads& heads = g.heads;
  const Place at(static_cast<int>(blockIdx.x) % g.tiles, heads.kv_heads, g.tiles, Size::kTile);
  load_tile<Size>(keys, {g.qkv + heads.key_at(at.b, at.head), heads.qkv_step()}, at.first,
                  heads.seq, heads.head_dim);
  load_tile<Size>(values, {g.qkv + heads.value_at(at.b, at.head), heads.qkv_step()}, at.first,
                  heads.seq, heads.head_dim);
  Product<Size> dkeys;
  Product<Size> dvalues;
  dkeys.clear();
  dvalues.clear();
  for (int member = 0; member < heads.group(); ++member) {
    const int head = at.head * heads.group() + member;
    for (int query = at.first; query < heads.seq; query += Size::kTile) {
      __syncthreads();
      load_tile<Size>(queries, {g.qkv + heads.query_at(at.b, head), heads.qkv_step()}, query,
                      heads.seq, heads.head_dim);
      load_tile<Size>(gradients, {g.dout + heads.out_at(at.b, head), heads.out_step()}, query,
                      heads.seq, heads.head_dim);
      __syncthreads();
      Scores<Size> scores;  // (keys, queries)
      Scores<Size> dscores;
      scores.multiply(keys, queries, heads.head_dim);
      dscores.multiply(values, gradients, heads.head_dim);
#pragma unroll
      for (int c = 0; c < Size::kRows; ++c) {
        const QueryRow row = query_row(g, at.b, head, query + scores.column(c));
#pragma unroll
        for (int r = 0; r < Size::kRows; ++r) {
          const bool counts = at.first + scores.row(r) <= query + scores.column(c);
          const float p = counts ? row.probability(scores.values[r][c] * g.scale) : 0.0F;
          scores.values[r][c] = p;
          dscores.values[r][c] = p * (dscores.values[r][c] - row.row_sum);
        }
      }
      scores.store_transposed(weights);
      dscores.store_transposed(dweights);
      __syncthreads();
      dvalues.add(weights, gradients);
      dkeys.add(dweights, queries);
    }
  }
  dkeys.store(g.dqkv + heads.key_at(at.b, at.head), heads.qkv_step(), at.first, heads.seq,
              heads.head_dim, [&](int) { return g.scale; });
  dvalues.store(g.dqkv + heads.value_at(at.b, at.head), heads.qkv_step(), at.first, heads.seq,
                heads.head_dim, [](int) { return 1.0F; });
}

}  // namespace

void launch(const FlashBackwardFp32& flash, cudaStream_t stream) {
  const AttentionBackward& op = flash.op;
  const AttentionShape& shape = op.shape;
  expect(op.qkv.format() == DType::Fp32 && op.log_sum_exp != nullptr,
         "attention: this kernel is for fp32 alone, and goes back from statistics");
  expect_workspace(op.workspace,
                   attention_backward_workspace_bytes(op.form, shape, op.qkv.format()),
                   "attention_backward");
  Backward arguments = {op.qkv.as<float>(),
                        op.out.as<float>(),
                        op.dout.as<float>(),
                        op.log_sum_exp->as<float>(),
                        op.workspace.as<float>(),
                        op.dqkv.as<float>(),
                        heads_of(shape),
                        0,
                        1.0F / std::sqrt(static_cast<float>(shape.head_dim))};
  const std::int64_t rows = shape.tokens() * shape.heads;
  start({"attention_backward: rows", ceil_divide(rows, kTileThreads / kWarp), kTileThreads, stream},
        sum_rows, arguments, rows);
  with_tile_size(shape.head_dim, [&](auto size) {
    using Size = decltype(size);
    arguments.tiles = ceil_divide(shape.seq, Size::kTile);
    const std::int64_t tiles = arguments.tiles * shape.batch;
    const std::size_t shared = sizeof(float) * (4 * Size::kTileFloats + Size::kScoreFloats);
    start({"attention_backward: queries", static_cast<unsigned>(tiles * shape.heads), kTileThreads,
           stream, shared},
          query_gradients<Size>, arguments);
    start({"attention_backward: keys", static_cast<unsigned>(tiles * shape.kv_heads), kTileThreads,
           stream, shared + sizeof(float) * Size::kScoreFloats},
          key_gradients<Size>, arguments);
  });
}

}  // namespace vramfit
