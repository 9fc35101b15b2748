#include <cmath>

#include "kernels/cuda/attention/decode_lanes.cuh"
#include "kernels/cuda/attention/kv_places.cuh"
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
constexpr std::int64_t kFewestPositions = 64;

/// T: of activations, Stored: of the cache's elements.
template <typename T, typename Stored>
struct Decode {
  const T* qkv;
  const Stored* keys;
  const Stored* values;
  const float* key_scales;  ///< of each position and head; 8 bits only
  const float* value_scales;
  KvPlaces places;
  const std::int32_t* starts;  ///< each sequence's new position
  T* out;
  float* partial =
      nullptr;  ///< unnormalised outputs, (B, a, splits, d); null where there is one split
  float2* partial_sums = nullptr;  ///< largest score and sum of exponentials, (B, a, splits)
  int splits = 0;
  int heads = 0;
  int kv_heads = 0;
  int group_heads = 0;   ///< query heads a key/value head has
  int group_blocks = 0;  ///< blocks they take
  int head_dim = 0;
  int vector_lanes = 0;  ///< that stand along one position's vector; a power of two
  float scale = 0;       ///< of scores, times log2(e): exponentials are powers of two here
  /// Short caches leave bandwidth to the linear that comes next. Long ones do not: it begins once
  /// they are read.
  bool early = false;
};

/// What each warp hands to the block for one head.
struct WarpStates {
  float largest[kWarps];
  float sum[kWarps];
};

template <typename T, typename Stored, int N, int kPacks, int kHeads>
__global__ void __launch_bounds__(kThreads) decode(const Decode<T, Stored> d) {
  constexpr bool kScaled = sizeof(Stored) == 1;
  constexpr int kSize = N * kPacks;
  constexpr int kAhead = kHeads > 4 ? 2 : 4;  // positions a lane reads at once
  __shared__ WarpStates states[kHeads];
  auto* outputs = dynamic_shared<float>();  // (kWarps, kHeads, d)
  if (d.early) start_next_kernel();
  wait_for_previous_kernels();

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
  const int length = d.starts[b] + 1;
  const int split_length = (length + d.splits - 1) / d.splits;

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
  const int end = min(length, (split + 1) * split_length);
  const int stride = kWarps * vectors;
  // All lanes of a warp loop equally often, since all take part in sums over lanes.
  for (int base = split * split_length + warp * vectors; base < end; base += stride * kAhead) {
    Part<Stored, N, kPacks> keys[kAhead];
    Part<Stored, N, kPacks> values[kAhead];
    float key_scales[kAhead];
    float value_scales[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      // A lane past the end reads the last position again, and its score is not counted.
      const std::int64_t position = min(base + u * stride + vector, end - 1);
      const std::int64_t place = d.places(b, position, kv_head);
      keys[u].load(d.keys + place * d.head_dim, lane, d.vector_lanes, d.head_dim);
      values[u].load(d.values + place * d.head_dim, lane, d.vector_lanes, d.head_dim);
      key_scales[u] = kScaled ? d.key_scales[place] : 1.0F;
      value_scales[u] = kScaled ? d.value_scales[place] : 1.0F;
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
        score = sum_over_lanes(score, d.vector_lanes) * key_scales[u];
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
        const float scaled = weight * value_scales[u];
#pragma unroll
        for (int i = 0; i < kSize; ++i) state[h].out[i] += scaled * value[i];
      }
    }
  }

  if (!d.early) start_next_kernel();
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

/// One block per query head of a sequence, one thread per column; each warp's lanes have the
/// splits' factors.
template <typename T>
__global__ void combine_splits(const float* partial, const float2* sums, int splits, int head_dim,
                               T* out) {
  take_turn();
  const std::int64_t row = blockIdx.x;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  constexpr int kEach = static_cast<int>(kDecodeSplits) / kWarp;
  float2 own[kEach];
  float largest = kLowest;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int s = lane + i * kWarp;
    own[i] = s < splits ? sums[row * splits + s] : float2{kLowest, 0};
    largest = fmaxf(largest, own[i].x);
  }
  largest = warp_max(largest);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    own[i].x = power_of_two(own[i].x - largest);
    sum += own[i].x * own[i].y;
  }
  sum = warp_sum(sum);
  const int column = static_cast<int>(threadIdx.x);
  const float* from = partial + row * splits * head_dim + min(column, head_dim - 1);
  float total = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
#pragma unroll 8
    for (int s = i * kWarp; s < min(splits, (i + 1) * kWarp); ++s) {
      total += __shfl_sync(kWholeWarp, own[i].x, s % kWarp) * from[s * head_dim];
    }
  }
  if (column < head_dim) out[row * head_dim + column] = from_float<T>(total / sum);
}

int power_of_two_from(std::int64_t count) {
  int power = 1;
  while (power < count) power *= 2;
  return power;
}

template <typename T, typename Stored>
Decode<T, Stored> arguments(const AttentionDecode& op) {
  const AttentionShape& shape = op.shape;
  const auto scales = [](const Tensor* tensor) {
    return tensor == nullptr ? nullptr : tensor->as<const float>();
  };
  Decode<T, Stored> d{.qkv = op.qkv.as<T>(),
                      .keys = op.cache.keys.as<Stored>(),
                      .values = op.cache.values.as<Stored>(),
                      .key_scales = scales(op.cache.key_scales),
                      .value_scales = scales(op.cache.value_scales),
                      .places = KvPlaces(op.cache),
                      .starts = integers_of(&op.starts),
                      .out = op.out.as<T>()};
  d.heads = static_cast<int>(shape.heads);
  d.kv_heads = static_cast<int>(shape.kv_heads);
  d.group_heads = d.heads / d.kv_heads;
  d.head_dim = static_cast<int>(shape.head_dim);
  d.scale = kLog2E / std::sqrt(static_cast<float>(shape.head_dim));
  return d;
}

/// As many splits as there is room for at once where the cache is full: a second round would be
/// shorter than the first. How long the cache is only the device knows. `room`: of blocks.
template <typename T, typename Stored>
void split(Decode<T, Stored>& d, const AttentionDecode& op, std::int64_t blocks, std::int64_t room,
           std::int64_t rows) {
  const std::int64_t worth = (op.cache.positions() + kFewestPositions - 1) / kFewestPositions;
  const std::int64_t at_once = std::max<std::int64_t>(room / blocks, 1);
  d.splits = static_cast<int>(std::min({kDecodeSplits, worth, at_once}));
  if (d.splits == 1) return;
  d.partial_sums = op.workspace.as<float2>();
  d.partial = op.workspace.as<float>() + 2 * rows * d.splits;
}

template <int N, int kPacks, int kHeads, typename T, typename Stored>
void launch_decode(Decode<T, Stored> d, const AttentionDecode& op, cudaStream_t stream) {
  const std::int64_t rows = op.shape.batch * op.shape.heads;
  d.vector_lanes = std::min(kWarp, power_of_two_from(ceil_divide(d.head_dim, N * kPacks)));
  d.group_blocks = ceil_divide(d.group_heads, kHeads);
  const std::int64_t blocks = op.shape.batch * op.shape.kv_heads * d.group_blocks;
  const std::size_t shared = sizeof(float) * static_cast<std::size_t>(kWarps * kHeads * d.head_dim);
  static const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  const auto kernel = decode<T, Stored, N, kPacks, kHeads>;
  int each = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, kThreads, shared),
        "attention_decode");
  split(d, op, blocks, std::int64_t{each} * multiprocessors, rows);
  // Beside a linear's blocks, which have most of the shared memory, L1 is too small to keep long
  // caches' bytes on their way: then they wait until those blocks have gone.
  d.early = 2 * blocks * d.splits <= std::int64_t{each} * multiprocessors;
  start({"attention_decode", static_cast<unsigned>(blocks * d.splits), kThreads, stream, shared,
         d.early},
        decode<T, Stored, N, kPacks, kHeads>, d);
  if (d.splits == 1) return;
  start({"attention_decode: combine", static_cast<unsigned>(rows), whole_warps(d.head_dim), stream,
         0, true},
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

template <typename T, typename Stored>
void launch_stored(const AttentionDecode& op, cudaStream_t stream) {
  const AttentionShape& shape = op.shape;
  // Elements of a pack: 16 bytes of activations, 8 of what is stored in 8 bits.
  constexpr int kPack = sizeof(Stored) == 1 ? 8 : static_cast<int>(16 / sizeof(T));
  const Decode<T, Stored> d = arguments<T, Stored>(op);
  const KvBlocks& cache = op.cache;
  const bool packed =
      is_packed<T>(shape.head_dim, {op.qkv.data(), cache.keys.data(), cache.values.data()}) &&
      shape.head_dim % kPack == 0;
  if (!packed) {
    launch_decode<1, static_cast<int>(kMaxHeadDim) / kWarp, 1>(d, op, stream);
    return;
  }
  with_heads(d.group_heads, [&](auto heads) {
    constexpr int kHeads = decltype(heads)::value;
    if (shape.head_dim <= std::int64_t{kWarp} * kPack) {
      launch_decode<kPack, 1, kHeads>(d, op, stream);
    } else if constexpr (kPack * kWarp < kMaxHeadDim) {
      launch_decode<kPack, 2, kHeads>(d, op, stream);
    }
  });
}

}  // namespace

void launch(const AttentionDecode& op, cudaStream_t stream) {
  const AttentionShape& shape = op.shape;
  expect(shape.seq == 1 && shape.head_dim <= kMaxHeadDim && shape.heads % shape.kv_heads == 0,
         "attention_decode: one token a sequence, heads in whole groups, at most kMaxHeadDim wide");
  expect_workspace(op.workspace, attention_decode_workspace_bytes(shape, op.qkv.format()),
                   "attention_decode");
  with_element(op.qkv.format(), [&](auto element) {
    using T = decltype(element);
    with_stored<T>(op.cache.keys.format(),
                   [&](auto stored) { launch_stored<T, decltype(stored)>(op, stream); });
  });
}

}  // namespace vramfit
