#pragma once

#include <cmath>

#include "kernels/cuda/attention/decode_lanes.cuh"
#include "kernels/cuda/attention/kv_places.cuh"
#include "kernels/cuda/attention/kv_store.cuh"
#include "kernels/cuda/base/dispatch.cuh"
#include "model/ops/workspaces.h"

// One new token against the cache is bound by reading the cache. A unit of four warps takes one
// key/value head of one sequence, a part of its positions (a split), and up to kHeads of the query
// heads that share it, so that the cache is read once. Lanes stand beside each other along a
// position's vector: a warp reads several positions at once where vectors are short.

namespace vramfit::gpu {

inline constexpr int kDecodeThreads = 128;
inline constexpr int kDecodeWarps = kDecodeThreads / kWarp;

/// AttentionDecode, as kernels are given it. T: of activations.
template <typename T>
struct Decode {
  const T* qkv = nullptr;
  KvPointers cache;
  KvPlaces places;
  const std::int32_t* starts = nullptr;  ///< each sequence's new position
  T* out = nullptr;
  float* partial =
      nullptr;  ///< unnormalised outputs, (B, a, splits, d); null where there is one split
  float2* partial_sums = nullptr;  ///< largest score and sum of exponentials, (B, a, splits)
  int splits = 1;
  int heads = 0;
  int kv_heads = 0;
  int group_heads = 0;   ///< query heads a key/value head has
  int group_blocks = 0;  ///< units they take
  int head_dim = 0;
  int vector_lanes = 0;  ///< that stand along one position's vector; a power of two
  float scale = 0;       ///< of scores, times log2(e): exponentials are powers of two here
  /// Short caches leave bandwidth to the linear that comes next. Long ones do not: it begins once
  /// they are read.
  bool early = false;

  Decode() = default;
  /// `unit_heads`: query heads that a unit takes; `lane_elements`: elements of a vector that a lane
  /// does.
  Decode(const AttentionDecode& op, int unit_heads, int lane_elements)
      : qkv(op.qkv.as<T>()),
        cache(op.cache),
        places(op.cache),
        starts(integers_of(&op.starts)),
        out(op.out.as<T>()),
        heads(static_cast<int>(op.shape.heads)),
        kv_heads(static_cast<int>(op.shape.kv_heads)),
        group_heads(heads / kv_heads),
        group_blocks(ceil_divide(group_heads, unit_heads)),
        head_dim(static_cast<int>(op.shape.head_dim)),
        scale(kLog2E / std::sqrt(static_cast<float>(op.shape.head_dim))) {
    vector_lanes = 1;
    while (vector_lanes < std::min(kWarp, ceil_divide(head_dim, lane_elements))) vector_lanes *= 2;
  }

  /// As many splits as there is room for at once where the cache is full: a second round would be
  /// shorter than the first. How long the cache is only the device knows. `room`: of units;
  /// `fewest`: positions that are worth a split of their own.
  void split(const AttentionDecode& op, std::int64_t room, std::int64_t fewest) {
    const std::int64_t worth = (op.cache.positions() + fewest - 1) / fewest;
    const std::int64_t at_once = std::max<std::int64_t>(room / units(op), 1);
    splits = static_cast<int>(std::min({kDecodeSplits, worth, at_once}));
    if (splits == 1) return;
    partial_sums = op.workspace.as<float2>();
    partial = op.workspace.as<float>() + 2 * op.shape.batch * op.shape.heads * splits;
  }
  /// Of one split.
  std::int64_t units(const AttentionDecode& op) const {
    return op.shape.batch * kv_heads * group_blocks;
  }
};

/// Throws std::logic_error unless the op is what its contract says.
inline void expect_decode(const AttentionDecode& op) {
  const AttentionShape& shape = op.shape;
  expect(shape.seq == 1 && shape.head_dim <= kMaxHeadDim && shape.heads % shape.kv_heads == 0,
         "attention_decode: one token a sequence, heads in whole groups, at most kMaxHeadDim wide");
  expect_workspace(op.workspace, attention_decode_workspace_bytes(shape, op.qkv.format()),
                   "attention_decode");
}

/// Elements of a pack: 16 bytes of activations, 8 of what is stored in 8 bits.
template <typename T, typename Stored>
inline constexpr int kCachePack = sizeof(Stored) == 1 ? 8 : static_cast<int>(16 / sizeof(T));

/// Whether vectors are whole packs.
template <typename T, typename Stored>
bool is_packed_cache(const AttentionDecode& op) {
  const std::int64_t width = op.shape.head_dim;
  return width % kCachePack<T, Stored> == 0 &&
         is_packed<T>(width, {op.qkv.data(), op.cache.keys.data(), op.cache.values.data()});
}

/// What each warp hands to the unit for one head.
struct WarpStates {
  float largest[kDecodeWarps];
  float sum[kDecodeWarps];
};

/// Stored: of the cache's elements. `starts`: d's, or a copy. `thread`: of the unit's
/// kDecodeThreads. `states`, (kHeads), and `outputs`, (kDecodeWarps, kHeads, d), are in shared
/// memory, the unit's own; `barrier` waits for its threads, `cache_is_read` is called once the unit
/// reads no more of the cache.
template <typename Stored, int N, int kPacks, int kHeads, typename T, typename CacheIsRead,
          typename Barrier>
__device__ void decode_unit(const Decode<T>& d, const std::int32_t* starts, int unit, int thread,
                            WarpStates* states, float* outputs, const CacheIsRead& cache_is_read,
                            const Barrier& barrier) {
  constexpr bool kScaled = sizeof(Stored) == 1;
  constexpr int kSize = N * kPacks;
  constexpr int kAhead = kHeads > 4 ? 2 : 4;  // positions a lane reads at once
  const KvHeads<Stored> cache(d.cache);
  const int split = unit % d.splits;
  const int part = unit / d.splits % d.group_blocks;
  const int kv_index = unit / d.splits / d.group_blocks;
  const int kv_head = kv_index % d.kv_heads;
  const std::int64_t b = kv_index / d.kv_heads;
  const int first_head = kv_head * d.group_heads + part * kHeads;
  const int heads = min(kHeads, d.group_heads - part * kHeads);

  const int warp = thread / kWarp;
  const int lane = thread % d.vector_lanes;
  const int vectors = kWarp / d.vector_lanes;  // that a warp reads at once
  const int vector = thread % kWarp / d.vector_lanes;
  const int length = starts[b] + 1;
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
  const int stride = kDecodeWarps * vectors;
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
      keys[u].load(cache.keys + place * d.head_dim, lane, d.vector_lanes, d.head_dim);
      values[u].load(cache.values + place * d.head_dim, lane, d.vector_lanes, d.head_dim);
      key_scales[u] = kScaled ? cache.key_scales[place] : 1.0F;
      value_scales[u] = kScaled ? cache.value_scales[place] : 1.0F;
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

  cache_is_read();
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
  barrier();

  for (int i = thread; i < heads * d.head_dim; i += kDecodeThreads) {
    const int h = i / d.head_dim;
    const int column = i % d.head_dim;
    float largest = states[h].largest[0];
    for (int w = 1; w < kDecodeWarps; ++w) largest = fmaxf(largest, states[h].largest[w]);
    float sum = 0;
    float out = 0;
    for (int w = 0; w < kDecodeWarps; ++w) {
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

/// What a split's unnormalised output counts for: a warp's lanes have the splits of one head.
class SplitFactors {
 public:
  __device__ SplitFactors(const float2* sums, int splits) {
    static_assert(kDecodeSplits == kWarp);
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const float2 own = lane < splits ? sums[lane] : float2{kLowest, 0};
    factor_ = power_of_two(own.x - warp_max(own.x));
    sum_ = warp_sum(factor_ * own.y);
  }
  __device__ float of(int split) const { return __shfl_sync(kWholeWarp, factor_, split); }
  __device__ float sum() const { return sum_; }

 private:
  float factor_;
  float sum_;
};

}  // namespace vramfit::gpu
