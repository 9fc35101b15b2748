#include "kernels/cuda/attention/decode_parts.h"
#include "kernels/cuda/attention/decode_tile.cuh"
#include "kernels/cuda/base/cluster.cuh"
#include "kernels/cuda/base/launch.h"
#include "kernels/cuda/layers/rotary.cuh"

namespace vramfit {
namespace {

using namespace gpu;

/// Blocks that a cluster may have on every GPU that has clusters; fewer than two are none.
constexpr int kMostBlocks = 8;
constexpr int kFewestBlocks = 2;
/// Positions that a block reads at most, in halves of kFewestPositions: beyond them one kernel more
/// is the lesser evil.
constexpr std::int64_t kMostHalves = 3;
/// Blocks that a multiprocessor has registers for: beside a linear's there is room for one.
constexpr int kResidentBlocks = 4;

/// The new token's vectors of a key/value head: query heads, turned as RotaryEmbedding does it, and
/// what is appended.
template <typename T, int kDim>
struct NewVectors {
  /// Neighbouring rows are in different banks.
  T rows[kTileHeads + 2][kDim + 8];

  __device__ const T* query(int head) const { return rows[head]; }
  __device__ const T* key() const { return rows[kTileHeads]; }
  __device__ const T* value() const { return rows[kTileHeads + 1]; }
};

/// A thread's part of them: two pairs of each of some vectors.
template <typename T, int kDim>
class VectorTurner {
 public:
  /// Finds the turns, which nothing before this kernel has a part in.
  __device__ VectorTurner(const Frequencies& frequencies, int position, bool turns) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      turns_[i] = turns ? cosine_and_sine(position, frequencies.inverse[pair() + i]) : float2{1, 0};
    }
  }

  /// Asks for the vectors of the block: its query heads, and k and v where it appends them.
  __device__ void load(const Decode<T, T>& d, const DecodeBlock& own, bool appends) {
    const int rows = own.heads + (appends ? 2 : 0);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      if (row(i) >= rows) continue;
      const T* from = own.qkv(d) + std::int64_t{head(d, own, row(i))} * kDim + pair();
      words_[i] = {word(from), word(from + kDim / 2)};
    }
  }
  /// Turns them; leaves k where qkv and the cache have it, v in the cache.
  __device__ void store(const Decode<T, T>& d, const DecodeBlock& own, int position, bool appends,
                        NewVectors<T, kDim>& vectors) {
    const int rows = own.heads + (appends ? 2 : 0);
    const std::int64_t place = appends ? d.places(own.b, position, own.kv_head) * kDim : 0;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      if (row(i) >= rows) continue;
      const int appended = row(i) - own.heads;  // 0: k, 1: v
      if (appended < 1) turn(words_[i]);
      put(vectors.rows[appended < 0 ? row(i) : kTileHeads + appended], words_[i]);
      if (appended == 0) {
        put(own.qkv(d) + std::int64_t{head(d, own, row(i))} * kDim, words_[i]);
        put(d.keys + place, words_[i]);
      } else if (appended == 1) {
        put(d.values + place, words_[i]);
      }
    }
  }

 private:
  static constexpr int kThreads = kDim / 4;  ///< of a vector
  static constexpr int kAtOnce = kDecodeThreads / kThreads;
  static constexpr int kVectors = (kTileHeads + 2 + kAtOnce - 1) / kAtOnce;

  __device__ static int pair() { return static_cast<int>(threadIdx.x) % kThreads * 2; }
  __device__ static int row(int i) {
    return static_cast<int>(threadIdx.x) / kThreads + i * kAtOnce;
  }
  /// The row's head of qkv.
  __device__ static int head(const Decode<T, T>& d, const DecodeBlock& own, int row) {
    if (row < own.heads) return own.first_head + row;
    return d.heads + (row - own.heads) * d.kv_heads + own.kv_head;
  }
  __device__ static std::uint32_t word(const T* from) {
    return *reinterpret_cast<const std::uint32_t*>(from);
  }
  __device__ void turn(uint2& words) const {
    float low[2];
    float high[2];
    unpack(words.x, low, T{});
    unpack(words.y, high, T{});
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float turned = low[i] * turns_[i].x - high[i] * turns_[i].y;
      high[i] = high[i] * turns_[i].x + low[i] * turns_[i].y;
      low[i] = turned;
    }
    words = {packed(low, T{}), packed(high, T{})};
  }
  __device__ static void put(T* vector, const uint2& words) {
    *reinterpret_cast<std::uint32_t*>(vector + pair()) = words.x;
    *reinterpret_cast<std::uint32_t*>(vector + pair() + kDim / 2) = words.y;
  }

  float2 turns_[2];
  uint2 words_[kVectors];
};

/// A cluster takes a key/value head of a sequence, each of its blocks a split. It turns q and k
/// where they are to be, appends k and v, attends, and combines its splits: each block has a share
/// of the elements, of which the others send it theirs.
template <typename T, int kDim>
__global__ void __launch_bounds__(kDecodeThreads, kResidentBlocks)
    decode_short(const Decode<T, T> d, const __grid_constant__ Frequencies frequencies,
                 bool turns_heads) {
  __shared__ alignas(16) NewVectors<T, kDim> vectors;
  __shared__ WarpStates states[kTileHeads];
  __shared__ Inbox inbox;
  __shared__ float largest[kTileHeads][kMostBlocks];  // score of each split
  __shared__ float sums[kTileHeads][kMostBlocks];     // and sum of exponentials
  auto* outputs = dynamic_shared<float>();            // (kDecodeWarps, heads, d)
  const DecodeBlock own(d, kTileHeads);
  float* received = outputs + kDecodeWarps * own.heads * kDim;  // (splits, share)
  const auto thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarp;
  const int elements = own.heads * kDim;
  const int share = (elements + d.splits - 1) / d.splits;  // the last blocks have less
  const int own_share = min(max(elements - own.split * share, 0), share);
  if (thread == 0) {
    inbox.open(d.splits * (own_share + 2 * own.heads) * static_cast<int>(sizeof(float)));
  }
  __syncwarp();
  tell_cluster();
  const int position = d.starts[own.b];
  const Split positions(position + 1, d.splits, own.split);
  const bool appends = positions.first <= position && position < positions.end;
  // What is read before the wait has to go into L1 beside a linear's bytes: keys. Values come
  // beside q.
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
    state.attend(tile, query, d.scale, positions.end - base);
    base += kStep;
    if (base >= positions.end) break;
    tile.load_keys(d, own, positions, base);
    tile.load_values();
  }
  state.store(own.heads, outputs + warp * own.heads * kDim, states);
  __syncthreads();

  wait_for_cluster();
  for (int i = thread; i < elements; i += kDecodeThreads) {
    const int h = i / kDim;
    const int column = i % kDim;
    const SplitElement element(states, outputs, own.heads, kDim, h, column);
    inbox.send(received[own.split * share + i % share], i / share, element.out);
    if (column < d.splits) {
      inbox.send(largest[h][own.split], column, element.largest);
      inbox.send(sums[h][own.split], column, element.sum);
    }
  }
  inbox.wait();
  // What splits sent they computed from q: they have read it.
  if (own.split == 0 && turns_heads) {
    for (int i = thread; i < elements / 8; i += kDecodeThreads) {
      const int h = i / (kDim / 8);
      const int column = i % (kDim / 8) * 8;
      Pack<T, 8>::load(vectors.query(h) + column)
          .store(own.qkv(d) + (own.first_head + h) * kDim + column);
    }
  }
  for (int own_element = thread; own_element < own_share; own_element += kDecodeThreads) {
    const int i = own.split * share + own_element;
    const int h = i / kDim;
    float most = kLowest;
#pragma unroll
    for (int s = 0; s < kMostBlocks; ++s) {
      if (s < d.splits) most = fmaxf(most, largest[h][s]);
    }
    float sum = 0;
    float out = 0;
#pragma unroll
    for (int s = 0; s < kMostBlocks; ++s) {
      if (s >= d.splits) continue;
      const float factor = power_of_two(largest[h][s] - most);
      sum += factor * sums[h][s];
      out += factor * received[s * share + own_element];
    }
    const std::int64_t row = own.b * d.heads + own.first_head;
    d.out[row * kDim + i] = from_float<T>(out / sum);
  }
}

template <typename T, int kDim>
bool launch_short(const AttentionDecode& op, cudaStream_t stream) {
  const auto kernel = decode_short<T, kDim>;
  static const bool clusters = has_clusters(kernel);
  Decode<T, T> d(op, kTileHeads, kCachePack<T, T>);
  const std::int64_t worth = (op.cache.positions() + kFewestPositions - 1) / kFewestPositions;
  d.splits = static_cast<int>(std::clamp<std::int64_t>(worth, kFewestBlocks, kMostBlocks));
  const bool is_short = 2 * worth <= kMostHalves * d.splits;
  if (!clusters || !is_short || d.group_blocks > 1) return false;
  const std::size_t shared =
      sizeof(float) *
      static_cast<std::size_t>((kDecodeWarps + 1) * d.group_heads * kDim + d.splits);
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
