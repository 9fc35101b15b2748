#pragma once

#include <cmath>

#include "kernels/cuda/attention/decode_lanes.cuh"
#include "kernels/cuda/attention/kv_places.cuh"
#include "kernels/cuda/base/dispatch.cuh"
#include "model/ops/workspaces.h"

// One new token against the cache is bound by reading the cache. A block takes one key/value head
// of one sequence, a part of its positions (a split), and up to kHeads of the query heads that
// share it, so that the cache is read once. Lanes stand beside each other along a position's
// vector: a warp reads several positions at once where vectors are short.

namespace vramfit::gpu {

inline constexpr int kDecodeThreads = 128;
inline constexpr int kDecodeWarps = kDecodeThreads / kWarp;

/// The fewest positions that are worth a split of their own.
inline constexpr std::int64_t kFewestPositions = 64;

/// T: of activations, Stored: of the cache's elements.
template <typename T, typename Stored>
struct Decode {
  T* qkv;
  Stored* keys;
  Stored* values;
  const float* key_scales;  ///< of each position and head; 8 bits only
  const float* value_scales;
  KvPlaces places;
  const std::int32_t* starts;  ///< each sequence's new position; no kernel under way writes it
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

  /// `block_heads`: query heads that a block takes; `lane_elements`: elements of a vector that a
  /// lane does.
  Decode(const AttentionDecode& op, int block_heads, int lane_elements)
      : qkv(op.qkv.as<T>()),
        keys(op.cache.keys.as<Stored>()),
        values(op.cache.values.as<Stored>()),
        key_scales(scales(op.cache.key_scales)),
        value_scales(scales(op.cache.value_scales)),
        places(op.cache),
        starts(integers_of(&op.starts)),
        out(op.out.as<T>()),
        heads(static_cast<int>(op.shape.heads)),
        kv_heads(static_cast<int>(op.shape.kv_heads)),
        group_heads(heads / kv_heads),
        group_blocks(ceil_divide(group_heads, block_heads)),
        head_dim(static_cast<int>(op.shape.head_dim)),
        scale(kLog2E / std::sqrt(static_cast<float>(op.shape.head_dim))) {
    vector_lanes = 1;
    while (vector_lanes < std::min(kWarp, ceil_divide(head_dim, lane_elements))) vector_lanes *= 2;
  }

  /// Of one split.
  std::int64_t blocks(const AttentionDecode& op) const {
    return op.shape.batch * kv_heads * group_blocks;
  }

 private:
  static const float* scales(const Tensor* tensor) {
    return tensor == nullptr ? nullptr : tensor->as<const float>();
  }
};

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

/// The positions that a block reads, of a sequence of so many.
struct Split {
  int first;
  int end;

  __device__ Split(int length, int splits, int split) {
    const int most = (length + splits - 1) / splits;
    first = split * most;
    end = min(length, first + most);
  }
};

/// Brings a split near while kernels before this one are under way, which write no more of it than
/// the newest position.
template <typename T, typename Stored>
__device__ void prefetch_split(const Decode<T, Stored>& d, const Split& positions, std::int64_t b,
                               int kv_head) {
  const auto thread = static_cast<int>(threadIdx.x);
  const auto* cache = reinterpret_cast<const std::uint8_t*>(thread % 2 == 0 ? d.keys : d.values);
  const int bytes = d.head_dim * static_cast<int>(sizeof(Stored));
  for (int at = positions.first + thread / 2; at < positions.end; at += kDecodeThreads / 2) {
    const std::uint8_t* vector = cache + d.places(b, at, kv_head) * bytes;
    for (int byte = 0; byte < bytes; byte += 128) prefetch(vector + byte);
  }
}

/// What each warp hands to the block for one head.
struct WarpStates {
  float largest[kDecodeWarps];
  float sum[kDecodeWarps];
};

/// Whose part of the step a block does.
struct DecodeBlock {
  int split;
  int part;  ///< of the query heads that share a key/value head
  int kv_head;
  std::int64_t b;
  int first_head;
  int heads;

  template <typename T, typename Stored>
  __device__ DecodeBlock(const Decode<T, Stored>& d, int block_heads)
      : split(static_cast<int>(blockIdx.x) % d.splits),
        part(static_cast<int>(blockIdx.x) / d.splits % d.group_blocks) {
    const int kv_index = static_cast<int>(blockIdx.x) / d.splits / d.group_blocks;
    kv_head = kv_index % d.kv_heads;
    b = kv_index / d.kv_heads;
    first_head = kv_head * d.group_heads + part * block_heads;
    heads = min(block_heads, d.group_heads - part * block_heads);
  }
  /// A sequence's q, k and v.
  template <typename T, typename Stored>
  __device__ T* qkv(const Decode<T, Stored>& d) const {
    return d.qkv + b * (d.heads + 2 * d.kv_heads) * d.head_dim;
  }
};

/// A thread's place along a vector, and which of those that a warp reads at once.
struct VectorLane {
  int lane;
  int vector;

  __device__ explicit VectorLane(int vector_lanes)
      : lane(static_cast<int>(threadIdx.x) % vector_lanes),
        vector(static_cast<int>(threadIdx.x) % kWarp / vector_lanes) {}
};

/// Positions that a lane reads at once.
template <int kHeads>
inline constexpr int kPositionsAhead = kHeads > 4 ? 2 : 4;

/// What a lane reads of the cache at once: its part of the keys and values of kAhead positions.
template <typename Stored, int N, int kPacks, int kAhead>
struct CacheReading {
  Part<Stored, N, kPacks> keys[kAhead];
  Part<Stored, N, kPacks> values[kAhead];
  float key_scales[kAhead];
  float value_scales[kAhead];

  /// Of the warp's positions: its first of the split, and from each to its next.
  template <typename T>
  __device__ static int first(const Decode<T, Stored>& d, const Split& positions) {
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    return positions.first + warp * (kWarp / d.vector_lanes);
  }
  template <typename T>
  __device__ static int step(const Decode<T, Stored>& d) {
    return kDecodeWarps * (kWarp / d.vector_lanes);
  }

  /// Those from `base` on, where the split has one. A lane past the split's end reads its last
  /// position again.
  template <typename T>
  __device__ void load(const Decode<T, Stored>& d, const DecodeBlock& own, const Split& positions,
                       int base) {
    constexpr bool kScaled = sizeof(Stored) == 1;
    if (base >= positions.end) return;
    const auto [lane, vector] = VectorLane(d.vector_lanes);
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      const std::int64_t position = min(base + u * step(d) + vector, positions.end - 1);
      const std::int64_t place = d.places(own.b, position, own.kv_head);
      keys[u].load(d.keys + place * d.head_dim, lane, d.vector_lanes, d.head_dim);
      values[u].load(d.values + place * d.head_dim, lane, d.vector_lanes, d.head_dim);
      key_scales[u] = kScaled ? d.key_scales[place] : 1.0F;
      value_scales[u] = kScaled ? d.value_scales[place] : 1.0F;
    }
  }
};

/// Leaves in shared memory what each warp has of the split: `states`, (kHeads), and `outputs`,
/// (kDecodeWarps, kHeads, d). `queries` are scaled; `read` is of the warp's first positions. Ends
/// with a barrier.
template <int N, int kPacks, int kHeads, int kAhead, typename T, typename Stored>
__device__ void attend_to_split(const Decode<T, Stored>& d, const DecodeBlock& own,
                                const Split& positions, const Floats<N * kPacks> (&queries)[kHeads],
                                CacheReading<Stored, N, kPacks, kAhead>& read, WarpStates* states,
                                float* outputs) {
  constexpr int kSize = N * kPacks;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const auto [lane, vector] = VectorLane(d.vector_lanes);
  const int heads = own.heads;

  HeadState<kSize> state[kHeads];
  const int step = read.step(d);
  // All lanes of a warp loop equally often, since all take part in sums over lanes.
  for (int base = read.first(d, positions); base < positions.end; base += step * kAhead) {
    Floats<kSize> key_floats[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u) key_floats[u] = read.keys[u].floats();
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
        score = sum_over_lanes(score, d.vector_lanes) * read.key_scales[u];
        scores[h][u] = base + u * step + vector < positions.end ? score : kLowest;
        largest = fmaxf(largest, scores[h][u]);
      }
      if (largest > state[h].largest) state[h].rescale(largest);
    }
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      if (base + u * step + vector >= positions.end) continue;
      const Floats<kSize> value = read.values[u].floats();
#pragma unroll
      for (int h = 0; h < kHeads; ++h) {
        if (h >= heads) continue;
        const float weight = power_of_two(scores[h][u] - state[h].largest);
        state[h].sum += weight;
        const float scaled = weight * read.value_scales[u];
#pragma unroll
        for (int i = 0; i < kSize; ++i) state[h].out[i] += scaled * value[i];
      }
    }
    read.load(d, own, positions, base + step * kAhead);
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
}

/// A head's softmax over a split, and an element of its unnormalised output.
struct SplitElement {
  float largest = kLowest;
  float sum = 0;
  float out = 0;

  /// Of what all warps left: `states`, (block_heads), and `outputs`, (kDecodeWarps, block_heads,
  /// d).
  __device__ SplitElement(const WarpStates* states, const float* outputs, int block_heads,
                          int head_dim, int h, int column) {
    for (int w = 0; w < kDecodeWarps; ++w) largest = fmaxf(largest, states[h].largest[w]);
    for (int w = 0; w < kDecodeWarps; ++w) {
      const float factor = power_of_two(states[h].largest[w] - largest);
      sum += factor * states[h].sum[w];
      out += factor * outputs[(w * block_heads + h) * head_dim + column];
    }
  }
};

}  // namespace vramfit::gpu
