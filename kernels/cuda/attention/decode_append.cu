#include "kernels/cuda/attention/decode_parts.h"
#include "kernels/cuda/attention/kv_places.cuh"
#include "kernels/cuda/attention/kv_store.cuh"
#include "kernels/cuda/base/launch.h"
#include "kernels/cuda/layers/rotary.cuh"

namespace vramfit {
namespace {

using namespace gpu;

constexpr int kThreads = 128;
/// Pairs of a head that a lane may have.
constexpr int kLanePairs = kMostPairs / kWarp;

template <typename T, typename Stored>
struct Appended {
  T* qkv;
  KvPlaces places;
  KvHeads<Stored> cache;
  const std::int32_t* starts;
  int batch;
  int heads;
  int pairs;
};

/// One warp per head of q, k and v of each token.
template <typename T, typename Stored>
__global__ void __launch_bounds__(kThreads)
    append_rotated(const Appended<T, Stored> r, const __grid_constant__ Frequencies frequencies) {
  take_turn();
  const int kv_heads = r.places.kv_heads;
  const int all = r.heads + 2 * kv_heads;
  const int warp = static_cast<int>(blockIdx.x * kThreads + threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (warp >= r.batch * all) return;
  const int b = warp / all;
  const int head = warp % all;
  const bool rotated = head < r.heads + kv_heads;
  const int position = r.starts[b];
  T* low = r.qkv + std::int64_t{warp} * 2 * r.pairs;
  T* high = low + r.pairs;
  Floats<2 * kLanePairs> values;
#pragma unroll
  for (int i = 0; i < kLanePairs; ++i) {
    const int pair = lane + i * kWarp;
    if (pair >= r.pairs) continue;
    float a = to_float(low[pair]);
    float c = to_float(high[pair]);
    if (rotated) {
      const float2 turn = cosine_and_sine(position, frequencies.inverse[pair]);
      low[pair] = from_float<T>(a * turn.x - c * turn.y);
      high[pair] = from_float<T>(c * turn.x + a * turn.y);
      a = to_float(low[pair]);
      c = to_float(high[pair]);
    }
    values[2 * i] = a;
    values[2 * i + 1] = c;
  }
  if (head < r.heads) return;
  const int slot = head - r.heads;
  const std::int64_t place = r.places(b, position, slot % kv_heads);
  // A lane's i-th element: of its pairs in turn the lower and the higher.
  const auto column = [&](int i) { return lane + i / 2 * kWarp + i % 2 * r.pairs; };
  const auto there = [&](int i) { return lane + i / 2 * kWarp < r.pairs; };
  r.cache.store(slot < kv_heads, place, 2 * r.pairs, values, column, there);
}

}  // namespace

void launch_append(const AttentionDecode& op, cudaStream_t stream) {
  const AttentionShape& s = op.shape;
  if (op.frequencies == nullptr) {
    launch(KvCacheAppend{s, op.qkv, op.cache, &op.starts, nullptr}, stream);
    return;
  }
  with_element(op.qkv.format(), [&](auto element) {
    using T = decltype(element);
    with_stored<T>(op.cache.keys.format(), [&](auto stored) {
      using Stored = decltype(stored);
      const Appended<T, Stored> arguments{op.qkv.as<T>(),
                                          KvPlaces(op.cache),
                                          KvHeads<Stored>(op.cache),
                                          integers_of(&op.starts),
                                          static_cast<int>(s.batch),
                                          static_cast<int>(s.heads),
                                          static_cast<int>(s.head_dim / 2)};
      const std::int64_t warps = s.batch * (s.heads + 2 * s.kv_heads);
      start({"attention_decode: append", ceil_divide(warps * kWarp, kThreads), kThreads, stream, 0,
             true},
            append_rotated<T, Stored>, arguments, Frequencies(*op.frequencies));
    });
  });
}

}  // namespace vramfit
