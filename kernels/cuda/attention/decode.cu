#include "kernels/cuda/attention/decode_parts.h"
#include "kernels/cuda/attention/decode_split.cuh"
#include "kernels/cuda/base/launch.h"

namespace vramfit {
namespace {

using namespace gpu;

/// Blocks of one head on a multiprocessor: enough of them keep memory busy.
constexpr int kSmallBlocks = 6;

template <typename T, typename Stored, int N, int kPacks, int kHeads>
__global__ void __launch_bounds__(kDecodeThreads, kHeads* kPacks == 1 ? kSmallBlocks : 1)
    decode(const Decode<T, Stored> d) {
  __shared__ WarpStates states[kHeads];
  auto* outputs = dynamic_shared<float>();  // (kDecodeWarps, kHeads, d)
  const DecodeBlock own(d, kHeads);
  const Split positions(d.starts[own.b] + 1, d.splits, own.split);
  if (d.early) {
    start_next_kernel();
    prefetch_split(d, positions, own.b, own.kv_head);
  }
  wait_for_previous_kernels();

  CacheReading<Stored, N, kPacks, kPositionsAhead<kHeads>> read;
  read.load(d, own, positions, read.first(d, positions));
  Floats<N * kPacks> queries[kHeads];
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    if (h >= own.heads) continue;
    Part<T, N, kPacks> query;
    query.load(own.qkv(d) + (own.first_head + h) * d.head_dim, VectorLane(d.vector_lanes).lane,
               d.vector_lanes, d.head_dim);
    queries[h] = query.floats();
#pragma unroll
    for (int i = 0; i < N * kPacks; ++i) queries[h][i] *= d.scale;
  }
  attend_to_split<N, kPacks>(d, own, positions, queries, read, states, outputs);

  for (int i = static_cast<int>(threadIdx.x); i < own.heads * d.head_dim; i += kDecodeThreads) {
    const int h = i / d.head_dim;
    const int column = i % d.head_dim;
    const SplitElement element(states, outputs, kHeads, d.head_dim, h, column);
    const std::int64_t row = own.b * d.heads + own.first_head + h;
    if (d.partial == nullptr) {
      d.out[row * d.head_dim + column] = from_float<T>(element.out / element.sum);
    } else {
      d.partial[(row * d.splits + own.split) * d.head_dim + column] = element.out;
      if (column == 0) {
        d.partial_sums[row * d.splits + own.split] = {element.largest, element.sum};
      }
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

/// Splits of a cache, at most `most`. Where all blocks are at work at once, as many as still are: a
/// second round would be shorter than the first. Where there are rounds without splits, two or
/// three, each of kFewestPositions four times, if they fill the last round so that they save a
/// fifth of what fewer splits take: to add them up takes time too.
std::int64_t splits_of(std::int64_t blocks, std::int64_t room, std::int64_t most) {
  if (blocks <= room) return std::clamp<std::int64_t>(room / blocks, 1, most);
  constexpr std::int64_t kMostOfRounds = 3;
  constexpr double kWorth = 0.8;
  const auto time = [&](std::int64_t splits) {
    return static_cast<double>(ceil_divide(blocks * splits, room)) / static_cast<double>(splits);
  };
  std::int64_t best = 1;
  for (std::int64_t splits = 2; splits <= std::min(kMostOfRounds, most / 4); ++splits) {
    if (time(splits) < kWorth * time(best)) best = splits;
  }
  return best;
}

/// How long the cache is only the device knows: splits are those of a full one. `room`: of blocks.
template <typename T, typename Stored>
void split(Decode<T, Stored>& d, const AttentionDecode& op, std::int64_t blocks, std::int64_t room,
           std::int64_t rows) {
  const std::int64_t worth = (op.cache.positions() + kFewestPositions - 1) / kFewestPositions;
  d.splits = static_cast<int>(splits_of(blocks, room, std::min(kDecodeSplits, worth)));
  if (d.splits == 1) return;
  d.partial_sums = op.workspace.as<float2>();
  d.partial = op.workspace.as<float>() + 2 * rows * d.splits;
}

template <typename T, typename Stored, int N, int kPacks, int kHeads>
void launch_decode(const AttentionDecode& op, cudaStream_t stream) {
  const std::int64_t rows = op.shape.batch * op.shape.heads;
  Decode<T, Stored> d(op, kHeads, N * kPacks);
  const std::int64_t blocks = d.blocks(op);
  const std::size_t shared =
      sizeof(float) * static_cast<std::size_t>(kDecodeWarps * kHeads * d.head_dim);
  static const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  const auto kernel = decode<T, Stored, N, kPacks, kHeads>;
  int each = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, kDecodeThreads, shared),
        "attention_decode");
  split(d, op, blocks, std::int64_t{each} * multiprocessors, rows);
  // Beside a linear's blocks, which have most of the shared memory, L1 is too small to keep long
  // caches' bytes on their way: then they wait until those blocks have gone.
  d.early = 2 * blocks * d.splits <= std::int64_t{each} * multiprocessors;
  start({"attention_decode", static_cast<unsigned>(blocks * d.splits), kDecodeThreads, stream,
         shared, d.early},
        decode<T, Stored, N, kPacks, kHeads>, d);
  if (d.splits == 1) return;
  start({"attention_decode: combine", static_cast<unsigned>(rows), whole_warps(d.head_dim), stream,
         0, true},
        combine_splits<T>, d.partial, d.partial_sums, d.splits, d.head_dim, d.out);
}

template <typename T, typename Stored>
void launch_stored(const AttentionDecode& op, cudaStream_t stream) {
  const AttentionShape& shape = op.shape;
  constexpr int kPack = kCachePack<T, Stored>;
  if (!is_packed_cache<T, Stored>(op)) {
    launch_decode<T, Stored, 1, static_cast<int>(kMaxHeadDim) / kWarp, 1>(op, stream);
    return;
  }
  with_heads(static_cast<int>(shape.heads / shape.kv_heads), [&](auto heads) {
    constexpr int kHeads = decltype(heads)::value;
    if (shape.head_dim <= std::int64_t{kWarp} * kPack) {
      launch_decode<T, Stored, kPack, 1, kHeads>(op, stream);
    } else if constexpr (kPack * kWarp < kMaxHeadDim) {
      launch_decode<T, Stored, kPack, 2, kHeads>(op, stream);
    }
  });
}

}  // namespace

void launch(const AttentionDecode& op, cudaStream_t stream) {
  const AttentionShape& shape = op.shape;
  expect(shape.seq == 1 && shape.head_dim <= kMaxHeadDim && shape.heads % shape.kv_heads == 0,
         "attention_decode: one token a sequence, heads in whole groups, at most kMaxHeadDim wide");
  expect(op.frequencies == nullptr || 2 * op.frequencies->pairs == shape.head_dim,
         "attention_decode: heads are turned whole");
  expect_workspace(op.workspace, attention_decode_workspace_bytes(shape, op.qkv.format()),
                   "attention_decode");
  if (launch_decode_short(op, stream)) return;
  launch_append(op, stream);
  with_element(op.qkv.format(), [&](auto element) {
    using T = decltype(element);
    with_stored<T>(op.cache.keys.format(),
                   [&](auto stored) { launch_stored<T, decltype(stored)>(op, stream); });
  });
}

}  // namespace vramfit
