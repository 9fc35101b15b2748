#include "kernels/cuda/attention/decode_parts.h"
#include "kernels/cuda/attention/decode_split.cuh"
#include "kernels/cuda/base/launch.h"
#include "kernels/cuda/layers/rotary.cuh"

namespace vramfit {
namespace {

using namespace gpu;

/// Blocks that a cluster may have on every GPU that has clusters.
constexpr std::int64_t kMostBlocks = 8;
/// Positions that a block reads at most, in halves of kFewestPositions: beyond them one kernel more
/// is the lesser evil.
constexpr std::int64_t kMostHalves = 3;

/// What a lane has of a head, turned as RotaryEmbedding does it: its partners are half a vector
/// away. Whole warps do this. `turns`: cosine and sine of each pair.
template <typename T, int N>
__device__ Pack<T, N> rotated(const Pack<T, N>& pack, const float2* turns, int lane, int lanes) {
  const bool low = lane < lanes / 2;
  const float2* turn = turns + lane % (lanes / 2) * N;
  Floats<N> own = pack.floats();
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const float other = __shfl_xor_sync(kWholeWarp, own[i], lanes / 2);
    own[i] = own[i] * turn[i].x + (low ? -other : other) * turn[i].y;
  }
  return Pack<T, N>(own);
}

/// A cluster takes a key/value head of a sequence, each of its blocks a split. It turns q and k
/// where they are to be, appends k and v, attends, and combines its splits by way of each other's
/// shared memory.
template <typename T, int N, int kHeads>
__global__ void __launch_bounds__(kDecodeThreads)
    decode_short(const Decode<T, T> d, const __grid_constant__ Frequencies frequencies,
                 bool turns_heads) {
  __shared__ WarpStates states[kHeads];
  __shared__ float2 turns[kMostPairs];
  __shared__ float2 sums[kHeads];           // largest score, and of exponentials
  auto* outputs = dynamic_shared<float>();  // (kDecodeWarps, kHeads, d)
  float* own_output = outputs + kDecodeWarps * kHeads * d.head_dim;  // (kHeads, d)
  const auto thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarp;
  const auto [lane, vector] = VectorLane(d.vector_lanes);
  const DecodeBlock own(d, kHeads);
  start_next_kernel();
  const int position = d.starts[own.b];
  const Split positions(position + 1, d.splits, own.split);
  const bool appends = positions.first <= position && position < positions.end;
  prefetch_split(d, positions, own.b, own.kv_head);
  // All of a split of kFewestPositions, where a block has one head: what is read before the wait
  // has to go into L1 beside a linear's bytes, the other half comes beside q.
  constexpr int kHalf = kPositionsAhead<kHeads>;
  constexpr int kAhead = kHeads == 1 ? 2 * kHalf : kHalf;
  CacheReading<T, N, 1, kAhead> read;
  const int first = read.first(d, positions);
  if (!appends) read.template load<0, kHalf>(d, own, positions, first);
  static_assert(kMostPairs <= kDecodeThreads);
  if (turns_heads && thread < d.head_dim / 2) {
    turns[thread] = cosine_and_sine(position, frequencies.inverse[thread]);
  }
  __syncthreads();
  wait_for_previous_kernels();

  T* const qkv = own.qkv(d);
  T* const q = qkv + own.first_head * d.head_dim + lane * N;
  Pack<T, N> heads[kHeads];
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    if (h < own.heads) heads[h] = Pack<T, N>::load(q + h * d.head_dim);
  }
  if (!appends) read.template load<kHalf, kAhead>(d, own, positions, first);
  Floats<N> queries[kHeads];
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    if (h >= own.heads) continue;
    if (turns_heads) heads[h] = rotated(heads[h], turns, lane, d.vector_lanes);
    queries[h] = heads[h].floats();
#pragma unroll
    for (int i = 0; i < N; ++i) queries[h][i] *= d.scale;
  }
  // The block that reads the newest position appends it. Nobody else reads its k.
  if (appends) {
    const std::int64_t place = d.places(own.b, position, own.kv_head) * d.head_dim + lane * N;
    T* const k = qkv + (d.heads + own.kv_head) * d.head_dim + lane * N;
    if (warp == 0) {
      Pack<T, N> key = Pack<T, N>::load(k);
      if (turns_heads) key = rotated(key, turns, lane, d.vector_lanes);
      if (vector == 0) {
        key.store(k);
        key.store(d.keys + place);
      }
    } else if (warp == 1 && vector == 0) {
      Pack<T, N>::load(k + d.kv_heads * d.head_dim).store(d.values + place);
    }
    __syncthreads();
    read.load(d, own, positions, first);
  }
  attend_to_split<N, 1>(d, own, positions, queries, read, states, outputs, [] {});

  for (int i = thread; i < own.heads * d.head_dim; i += kDecodeThreads) {
    const int h = i / d.head_dim;
    const int column = i % d.head_dim;
    const SplitElement element(states, outputs, kHeads, d.head_dim, h, column);
    own_output[i] = element.out;
    if (column == 0) sums[h] = {element.largest, element.sum};
  }
  cluster_barrier();
  // All splits have read q.
  if (own.split == 0 && warp == 0 && vector == 0) {
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
      if (h < own.heads) heads[h].store(q + h * d.head_dim);
    }
  }
  for (int i = own.split * kDecodeThreads + thread; i < own.heads * d.head_dim;
       i += d.splits * kDecodeThreads) {
    const auto of_block = [&](const float& shared, int block) {
      return __uint_as_float(word_of_block(&shared, block));
    };
    const int h = i / d.head_dim;
    float largest = kLowest;
    for (int s = 0; s < d.splits; ++s) largest = fmaxf(largest, of_block(sums[h].x, s));
    float sum = 0;
    float out = 0;
    for (int s = 0; s < d.splits; ++s) {
      const float factor = power_of_two(of_block(sums[h].x, s) - largest);
      sum += factor * of_block(sums[h].y, s);
      out += factor * of_block(own_output[i], s);
    }
    const std::int64_t row = own.b * d.heads + own.first_head;
    d.out[row * d.head_dim + i] = from_float<T>(out / sum);
  }
  // No block goes before the others have read what it has.
  cluster_barrier();
}

template <typename T, int kHeads>
bool launch_short(const AttentionDecode& op, cudaStream_t stream) {
  constexpr int kPack = kCachePack<T, T>;
  const auto kernel = decode_short<T, kPack, kHeads>;
  static const bool clusters = has_clusters(kernel);
  Decode<T, T> d(op, kHeads, kPack);
  const bool whole = d.vector_lanes > 1 && d.vector_lanes * kPack == d.head_dim;
  const std::int64_t worth = (op.cache.positions() + kFewestPositions - 1) / kFewestPositions;
  d.splits = static_cast<int>(std::min(kMostBlocks, worth));
  const bool is_short = 2 * worth <= kMostHalves * d.splits;
  if (!clusters || !whole || !is_short || d.group_blocks > 1) return false;
  const std::size_t shared =
      sizeof(float) * static_cast<std::size_t>((kDecodeWarps + 1) * kHeads * d.head_dim);
  static const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  int each = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, kDecodeThreads, shared),
        "attention_decode");
  const std::int64_t blocks = d.blocks(op) * d.splits;
  if (2 * blocks > std::int64_t{each} * multiprocessors) return false;
  start({"attention_decode", static_cast<unsigned>(blocks), kDecodeThreads, stream, shared, true,
         d.splits},
        kernel, d, Frequencies(op.frequencies != nullptr ? *op.frequencies : RopeFrequencies{}),
        op.frequencies != nullptr);
  return true;
}

}  // namespace

bool launch_decode_short(const AttentionDecode& op, cudaStream_t stream) {
  if (op.cache.keys.format() != op.qkv.format()) return false;
  bool started = false;
  with_element(op.qkv.format(), [&](auto element) {
    using T = decltype(element);
    if (!is_packed_cache<T, T>(op)) return;
    with_heads(static_cast<int>(op.shape.heads / op.shape.kv_heads),
               [&](auto heads) { started = launch_short<T, decltype(heads)::value>(op, stream); });
  });
  return started;
}

}  // namespace vramfit
