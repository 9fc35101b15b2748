#include <bit>

#include "kernels/cuda/attention/decode_parts.h"
#include "kernels/cuda/attention/new_vectors.cuh"
#include "kernels/cuda/attention/split_exchange.cuh"
#include "kernels/cuda/base/launch.h"

namespace vramfit {
namespace {

using namespace gpu;

/// Beyond as many positions two kernels more are the lesser evil.
constexpr std::int64_t kMostPositions = 12 * kFewestPositions;
/// Blocks that a multiprocessor has registers for: beside a linear's there is room for one.
constexpr int kResidentBlocks = 4;

/// A cluster takes a key/value head of a sequence, each of its blocks a split. It turns q and k
/// where they are to be, appends k and v, attends, and puts its splits together.
template <typename T, int kDim>
__global__ void __launch_bounds__(kDecodeThreads, kResidentBlocks)
    decode_short(const Decode<T, T> d, const __grid_constant__ Frequencies frequencies,
                 bool turns_heads, int column_bits) {
  __shared__ alignas(16) NewVectors<T, kDim> vectors;
  __shared__ WarpStates states[kTileHeads];
  __shared__ SplitStates split_states;
  auto* outputs = dynamic_shared<float>();  // (kDecodeWarps, heads, d)
  const DecodeBlock own(d, kTileHeads);
  SplitExchange<kDim> exchange(split_states, outputs + kDecodeWarps * own.heads * kDim, own,
                               d.splits, column_bits);
  const auto thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarp;
  if (thread == 0) exchange.open();
  __syncwarp();
  tell_cluster();
  const int position = d.starts[own.b];
  const Split positions(position + 1, d.splits, own.split);
  const bool appends = positions.first <= position && position < positions.end;
  // Before the wait only keys are read: a linear's copies leave L1 too little room for values as
  // well, which come beside q.
  prefetch_split(d, positions, own.b, own.kv_head);
  int base = positions.first + warp * kTilePositions;
  CacheTile<T, kDim> tile;
  tile.load_keys(d, own, positions, base);
  VectorTurner<T, kDim> turner(frequencies, position, turns_heads);
  wait_for_previous_kernels();

  turner.load(d, own, appends);
  tile.load_values();
  // The linear after this begins now that q is asked for, which would come behind its weight.
  start_next_kernel();
  turner.store(d, own, position, appends, vectors);
  __syncthreads();

  const T* query = vectors.query(min(TileLane().g, own.heads - 1));
  TileState<T, kDim> state;
  constexpr int kStep = kDecodeWarps * kTilePositions;
  while (base < positions.end) {
    if (appends) tile.put_last(position - base, vectors.key(), vectors.value());
    const TileWeights weights = state.weigh(tile, query, d.scale, positions.end - base);
    base += kStep;
    state.add(weights, tile);
    if (base >= positions.end) break;
    tile.load_keys(d, own, positions, base);
    tile.load_values();
  }
  state.store(own.heads, outputs + warp * own.heads * kDim, states);
  __syncthreads();

  wait_for_cluster();
  exchange.send(states, outputs);
  exchange.wait();
  // What splits sent they computed from q: they have read it.
  if (own.split == 0 && turns_heads) {
    for (int i = thread; i < own.heads * kDim / 8; i += kDecodeThreads) {
      const int h = i / (kDim / 8);
      const int column = i % (kDim / 8) * 8;
      Pack<T, 8>::load(vectors.query(h) + column)
          .store(own.qkv(d) + (own.first_head + h) * kDim + column);
    }
  }
  exchange.combine(d.out + (own.b * d.heads + own.first_head) * kDim);
}

template <typename T, int kDim>
bool launch_short(const AttentionDecode& op, cudaStream_t stream) {
  const auto kernel = decode_short<T, kDim>;
  static const bool clusters = has_clusters(kernel);
  Decode<T, T> d(op, kTileHeads, kCachePack<T, T>);
  const std::int64_t positions = op.cache.positions();
  if (!clusters || positions > kMostPositions || d.group_blocks > 1) return false;
  const auto worth = std::bit_ceil(static_cast<unsigned>(ceil_divide(positions, kFewestPositions)));
  d.splits = std::clamp(static_cast<int>(worth), kFewestBlocks, kMostBlocks);
  const int column_bits = std::countr_zero(static_cast<unsigned>(kDim / d.splits));
  const std::size_t shared =
      sizeof(float) * static_cast<std::size_t>((kDecodeWarps + 1) * d.group_heads * kDim);
  static const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  int each = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, kDecodeThreads, shared),
        "attention_decode");
  const std::int64_t blocks = d.blocks(op) * d.splits;
  if (2 * blocks > std::int64_t{each} * multiprocessors) return false;
  start({"attention_decode", static_cast<unsigned>(blocks), kDecodeThreads, stream, shared, true,
         d.splits},
        kernel, d, Frequencies(op.frequencies != nullptr ? *op.frequencies : RopeFrequencies{}),
        op.frequencies != nullptr, column_bits);
  return true;
}

template <typename T>
bool launch_dim(const AttentionDecode& op, cudaStream_t stream) {
  if (!is_packed_cache<T, T>(op)) return false;
  if (op.shape.head_dim == 64) return launch_short<T, 64>(op, stream);
  return op.shape.head_dim == 128 && launch_short<T, 128>(op, stream);
}

}  // namespace

bool launch_decode_short(const AttentionDecode& op, cudaStream_t stream) {
  if (op.cache.keys.format() != op.qkv.format()) return false;
  bool started = false;
  with_element(op.qkv.format(), [&](auto element) {
    using T = decltype(element);
    if constexpr (sizeof(T) == 2) started = launch_dim<T>(op, stream);
  });
  return started;
}

}  // namespace vramfit
