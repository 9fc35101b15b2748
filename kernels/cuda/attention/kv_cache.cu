#include "kernels/cuda/attention/kv_places.cuh"
#include "kernels/cuda/attention/kv_store.cuh"
#include "kernels/cuda/base/launch.h"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

using namespace gpu;

constexpr int kThreads = 256;

template <typename T>
struct Append {
  const T* qkv;
  KvPlaces places;
  const std::int32_t* starts;  ///< of each sequence; null: 0
  const std::int32_t* counts;  ///< of each sequence; null: seq
  std::int64_t tokens;
  int seq;
  int heads;
  int head_dim;

  __device__ std::int64_t width() const {
    return std::int64_t{heads + 2 * places.kv_heads} * head_dim;
  }
  /// Where a token's head is to stand; -1: nowhere, as its sequence is shorter.
  __device__ std::int64_t place(std::int64_t n, int head) const {
    const std::int64_t b = n / seq;
    const std::int64_t t = n % seq;
    if (counts != nullptr && t >= counts[b]) return -1;
    return places(b, start_of(starts, b) + t, head);
  }
};

/// One block per token: k and v lie side by side in its row of qkv.
template <typename T, int N>
__global__ void append(const Append<T> a, T* keys, T* values) {
  take_turn();
  const std::int64_t n = blockIdx.x;
  const std::int64_t place = a.place(n, 0);
  if (place < 0) return;
  const int kv_packs = a.places.kv_heads * a.head_dim / N;
  const T* from = a.qkv + n * a.width() + std::int64_t{a.heads} * a.head_dim;
  const std::int64_t to = place * a.head_dim;
  for (int p = static_cast<int>(threadIdx.x); p < 2 * kv_packs; p += static_cast<int>(blockDim.x)) {
    T* cache = p < kv_packs ? keys : values;
    Pack<T, N>::load(from + std::int64_t{p} * N).store(cache + to + p % kv_packs * N);
  }
}

/// One warp per token and head of k, and of v.
template <typename T, typename Stored>
__global__ void __launch_bounds__(kThreads)
    append_quantized(const Append<T> a, const KvHeads<Stored> cache) {
  take_turn();
  const std::int64_t warp = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int kv_heads = a.places.kv_heads;
  const std::int64_t n = warp / (2 * kv_heads);
  if (n >= a.tokens) return;
  const int slot = static_cast<int>(warp % (2 * kv_heads));
  const std::int64_t place = a.place(n, slot % kv_heads);
  if (place < 0) return;
  const T* from = a.qkv + n * a.width() + std::int64_t{a.heads + slot} * a.head_dim;
  const auto column = [lane](int i) { return lane + i * kWarp; };
  const auto there = [&](int i) { return column(i) < a.head_dim; };
  Floats<kMaxHeadDim / kWarp> head;
#pragma unroll
  for (int i = 0; i < kMaxHeadDim / kWarp; ++i) head[i] = there(i) ? to_float(from[column(i)]) : 0;
  cache.store(slot < kv_heads, place, a.head_dim, head, column, there);
}

template <typename T>
void launch_plain(const KvCacheAppend& op, const Append<T>& arguments, cudaStream_t stream) {
  const AttentionShape& s = op.shape;
  const KvBlocks& cache = op.cache;
  const bool packed =
      is_packed<T>(s.q_width(), {op.qkv.data(), cache.keys.data(), cache.values.data()}) &&
      is_packed<T>(s.kv_width(), {});
  with_pack<T>(packed, [&](auto size) {
    constexpr int kSize = decltype(size)::value;
    const int threads = whole_warps(2 * s.kv_width() / kSize, 512);
    start({"kv_cache_append", static_cast<unsigned>(s.tokens()), threads, stream, 0, true},
          append<T, kSize>, arguments, cache.keys.as<T>(), cache.values.as<T>());
  });
}

}  // namespace

void launch(const KvCacheAppend& op, cudaStream_t stream) {
  const AttentionShape& s = op.shape;
  const KvBlocks& cache = op.cache;
  with_element(op.qkv.format(), [&](auto element) {
    using T = decltype(element);
    const Append<T> arguments{op.qkv.as<const T>(),
                              KvPlaces(cache),
                              integers_of(op.starts),
                              integers_of(op.counts),
                              s.tokens(),
                              static_cast<int>(s.seq),
                              static_cast<int>(s.heads),
                              static_cast<int>(s.head_dim)};
    with_stored<T>(cache.keys.format(), [&](auto stored) {
      using Stored = decltype(stored);
      if constexpr (std::is_same_v<Stored, T>) {
        launch_plain(op, arguments, stream);
      } else {
        const std::int64_t warps = s.tokens() * 2 * s.kv_heads;
        start({"kv_cache_append", ceil_divide(warps * kWarp, kThreads), kThreads, stream, 0, true},
              append_quantized<T, Stored>, arguments, KvHeads<Stored>(cache));
      }
    });
  });
}

}  // namespace vramfit
