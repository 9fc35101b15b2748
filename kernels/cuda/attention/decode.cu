#include <cmath>

#include "kernels/cuda/attention/decode_lanes.cuh"
#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/base/launch.h"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

using namespace gpu;

// One new token against the cache is bound by reading the cache. A block takes one key/value head
// of one sequence, a part of its positions (a split), and up to kHeads of the query heads that
// share it, so that the cache is read once. Lanes stand beside each other along a position's
// vector: a warp reads several positions at once where vectors are short.

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarp;

/// The fewest positions that are worth a split of their own.
constexpr std::int64_t kFewestPositions = 32;

/// Blocks that fill the GPU several times over, so that the last ones do not leave it idle.
constexpr std::int64_t kWantedBlocks = 132 * 16;

template <typename T>
struct Decode {
  const T* qkv;
  const T* keys;
  const T* values;
  T* out;
  float* partial;        ///< unnormalised outputs, (B, a, splits, d); null where there is one split
  float2* partial_sums;  ///< largest score and sum of exponentials, (B, a, splits)
  std::int64_t positions;
  int length;
  int split_length;
  int splits;
  int heads;
  int kv_heads;
  int group_heads;   ///< query heads a key/value head has
  int group_blocks;  ///< blocks they take
  int head_dim;
  int vector_lanes;  ///< that stand along one position's vector; a power of two
  float scale;       ///< of scores, times log2(e): exponentials are powers of two here
};

/// What each warp hands to the block for one head.
struct WarpStates {
  float largest[kWarps];
  float sum[kWarps];
};

template <typename T, int N, int kPacks, int kHeads>
__global__ void __launch_bounds__(kThreads) decode(const Decode<T> d) {
  constexpr int kSize = N * kPacks;
  constexpr int kAhead = kHeads > 4 ? 2 : 4;  // positions a lane reads at once
  __shared__ WarpStates states[kHeads];
  auto* outputs = dynamic_shared<float>();  // (kWarps, kHeads, d)

  const int split = static_cast<int>(blockIdx.x) % d.splits;
  const int part = static_cast<int>(blockIdx.x) / d.splits % d.group_blocks;
  const int kv_index = static_cast<int>(blockIdx.x) / d.splits / d.group_blocks;
  const int kv_head = kv_index % d.kv_heads;
  const std::int64_t b = kv_index / d.kv_heads;
  const int first_head = kv_head * d.group_heads + part * kHeads;
  const int heads = min(kHeads, d.group_heads - part * kHeads);

  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % d.vector_lanes;
  const int vectors = kWarp / d.vector_lanes;  // that a warp reads at once
  const int vector = static_cast<int>(threadIdx.x) % kWarp / d.vector_lanes;
  const std::int64_t step = std::int64_t{d.kv_heads} * d.head_dim;
  const std::int64_t cache = b * d.positions * step + std::int64_t{kv_head} * d.head_dim;

  Floats<kSize> queries[kHeads];
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    if (h >= heads) continue;
    const std::int64_t width = std::int64_t{d.heads + 2 * d.kv_heads} * d.head_dim;
    Part<T, N, kPacks> query;
    query.load(d.qkv + b * width + std::int64_t{first_head + h} * d.head_dim, lane, d.vector_lanes,
               d.head_dim);
    queries[h] = query.floats();
#pragma unroll
    for (int i = 0; i < kSize; ++i) queries[h][i] *= d.scale;
  }

  HeadState<kSize> state[kHeads];
  const int end = min(d.length, (split + 1) * d.split_length);
  const int stride = kWarps * vectors;
  // All lanes of a warp loop equally often, since all take part in sums over lanes.
  for (int base = split * d.split_length + warp * vectors; base < end; base += stride * kAhead) {
    Part<T, N, kPacks> keys[kAhead];
    Part<T, N, kPacks> values[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      // A lane past the end reads the last position again, and its score is not counted.
      const std::int64_t position = min(base + u * stride + vector, end - 1);
      keys[u].load(d.keys + cache + position * step, lane, d.vector_lanes, d.head_dim);
      values[u].load(d.values + cache + position * step, lane, d.vector_lanes, d.head_dim);
    }
    Floats<kSize> key_floats[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u) key_floats[u] = keys[u].floats();
    Floats<kAhead> scores[kHeads];
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
      if (h >= heads) continue;
      float largest = state[h].largest;
#pragma unroll
      for (int u = 0; u < kAhead; ++u) {
        float score = 0;
#pragma unroll
        for (int i = 0; i < kSize; ++i) score += queries[h][i] * key_floats[u][i];
        score = sum_over_lanes(score, d.vector_lanes);
        scores[h][u] = base + u * stride + vector < end ? score : kLowest;
        largest = fmaxf(largest, scores[h][u]);
      }
      if (largest > state[h].largest) state[h].rescale(largest);
    }
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      if (base + u * stride + vector >= end) continue;
      const Floats<kSize> value = values[u].floats();
#pragma unroll
      for (int h = 0; h < kHeads; ++h) {
        if (h >= heads) continue;
        const float weight = power_of_two(scores[h][u] - state[h].largest);
        state[h].sum += weight;
#pragma unroll
        for (int i = 0; i < kSize; ++i) state[h].out[i] += weight * value[i];
      }
    }
  }

#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    if (h >= heads) continue;
    for (int mask = d.vector_lanes; mask < kWarp; mask *= 2) state[h].merge_lane(mask);
    if (vector > 0) continue;
    float* output = outputs + (warp * kHeads + h) * d.head_dim;
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      const int at = (lane + i / N * d.vector_lanes) * N + i % N;
      if (at < d.head_dim) output[at] = state[h].out[i];
    }
    if (lane == 0) {
      states[h].largest[warp] = state[h].largest;
      states[h].sum[warp] = state[h].sum;
    }
  }
  __syncthreads();

  for (int i = static_cast<int>(threadIdx.x); i < heads * d.head_dim; i += kThreads) {
    const int h = i / d.head_dim;
    const int column = i % d.head_dim;
    float largest = states[h].largest[0];
    for (int w = 1; w < kWarps; ++w) largest = fmaxf(largest, states[h].largest[w]);
    float sum = 0;
    float out = 0;
    for (int w = 0; w < kWarps; ++w) {
      const float factor = power_of_two(states[h].largest[w] - largest);
      sum += factor * states[h].sum[w];
      out += factor * outputs[(w * kHeads + h) * d.head_dim + column];
    }
    const std::int64_t row = b * d.heads + first_head + h;
    if (d.partial == nullptr) {
      d.out[row * d.head_dim + column] = from_float<T>(out / sum);
    } else {
      d.partial[(row * d.splits + split) * d.head_dim + column] = out;
      if (column == 0) d.partial_sums[row * d.splits + split] = {largest, sum};
    }
  }
}

/// One block per query head of a sequence; one thread per column.
template <typename T>
__global__ void combine_splits(const float* partial, const float2* sums, int splits, int head_dim,
                               T* out) {
  const std::int64_t row = blockIdx.x;
  float largest = kLowest;
  for (int s = 0; s < splits; ++s) largest = fmaxf(largest, sums[row * splits + s].x);
  for (int c = static_cast<int>(threadIdx.x); c < head_dim; c += static_cast<int>(blockDim.x)) {
    float sum = 0;
    float total = 0;
#pragma unroll 8
    for (int s = 0; s < splits; ++s) {
      const float2 split = sums[row * splits + s];
      const float factor = power_of_two(split.x - largest);
      sum += factor * split.y;
      total += factor * partial[(row * splits + s) * head_dim + c];
    }
    out[row * head_dim + c] = from_float<T>(total / sum);
  }
}

int power_of_two_from(std::int64_t count) {
  int power = 1;
  while (power < count) power *= 2;
  return power;
}

template <typename T>
Decode<T> arguments(const AttentionDecode& op) {
  const AttentionShape& shape = op.shape;
  Decode<T> d{};
  d.qkv = op.qkv.as<T>();
  d.keys = op.keys.as<T>();
  d.values = op.values.as<T>();
  d.out = op.out.as<T>();
  d.positions = op.keys.shape()[1];
  d.length = static_cast<int>(op.length);
  d.heads = static_cast<int>(shape.heads);
  d.kv_heads = static_cast<int>(shape.kv_heads);
  d.group_heads = d.heads / d.kv_heads;
  d.head_dim = static_cast<int>(shape.head_dim);
  d.scale = kLog2E / std::sqrt(static_cast<float>(shape.head_dim));
  return d;
}

/// As many splits as fill the GPU, none of them empty.
template <typename T>
void split(Decode<T>& d, std::int64_t blocks, std::int64_t rows, const Tensor& workspace) {
  const std::int64_t worth = (d.length + kFewestPositions - 1) / kFewestPositions;
  const std::int64_t wanted = (kWantedBlocks + blocks - 1) / blocks;
  const std::int64_t splits = std::min({kDecodeSplits, worth, wanted});
  d.split_length = ceil_divide(d.length, splits);
  d.splits = ceil_divide(d.length, d.split_length);
  if (d.splits == 1) return;
  d.partial_sums = workspace.as<float2>();
  d.partial = workspace.as<float>() + 2 * rows * d.splits;
}

template <typename T, int N, int kPacks, int kHeads>
void launch_decode(Decode<T> d, const AttentionDecode& op, cudaStream_t stream) {
  const std::int64_t rows = op.shape.batch * op.shape.heads;
  d.vector_lanes = std::min(kWarp, power_of_two_from(ceil_divide(d.head_dim, N * kPacks)));
  d.group_blocks = ceil_divide(d.group_heads, kHeads);
  const std::int64_t blocks = op.shape.batch * op.shape.kv_heads * d.group_blocks;
  split(d, blocks, rows, op.workspace);
  const std::size_t shared = sizeof(float) * static_cast<std::size_t>(kWarps * kHeads * d.head_dim);
  start({"attention_decode", static_cast<unsigned>(blocks * d.splits), kThreads, stream, shared},
        decode<T, N, kPacks, kHeads>, d);
  if (d.splits == 1) return;
  start({"attention_decode: combine", static_cast<unsigned>(rows), whole_warps(d.head_dim), stream},
        combine_splits<T>, d.partial, d.partial_sums, d.splits, d.head_dim, d.out);
}

/// Calls `body` with how many query heads a block takes, as a Constant.
template <typename Body>
void with_heads(int group_heads, const Body& body) {
  if (group_heads == 1) {
    body(Constant<1>{});
  } else if (group_heads == 2) {
    body(Constant<2>{});
  } else if (group_heads <= 4) {
    body(Constant<4>{});
  } else {
    body(Constant<8>{});
  }
}

}  // namespace

void launch(const AttentionDecode& op, cudaStream_t stream) {
  const AttentionShape& shape = op.shape;
  expect(shape.seq == 1 && shape.head_dim <= kMaxHeadDim && shape.heads % shape.kv_heads == 0,
         "attention_decode: one token a sequence, heads in whole groups, at most kMaxHeadDim wide");
  expect(op.length >= 1 && op.length <= op.keys.shape()[1],
         "attention_decode: the cache is not that long");
  expect_workspace(op.workspace, attention_decode_workspace_bytes(shape, op.qkv.format()),
                   "attention_decode");
  with_element(op.qkv.format(), [&](auto element) {
    using T = decltype(element);
    constexpr int kPack = static_cast<int>(16 / sizeof(T));
    const Decode<T> d = arguments<T>(op);
    if (!is_packed<T>(shape.head_dim, {op.qkv.data(), op.keys.data(), op.values.data()})) {
      launch_decode<T, 1, static_cast<int>(kMaxHeadDim) / kWarp, 1>(d, op, stream);
      return;
    }
    with_heads(d.group_heads, [&](auto heads) {
      constexpr int kHeads = decltype(heads)::value;
      if (shape.head_dim <= std::int64_t{kWarp} * kPack) {
        launch_decode<T, kPack, 1, kHeads>(d, op, stream);
      } else if constexpr (kPack * kWarp < kMaxHeadDim) {
        launch_decode<T, kPack, 2, kHeads>(d, op, stream);
      }
    });
  });
}

}  // namespace vramfit
