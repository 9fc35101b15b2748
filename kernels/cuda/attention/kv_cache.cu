#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/base/launch.h"

namespace vramfit {
namespace {

using namespace gpu;

/// One block per token: k and v lie side by side in its row of qkv.
template <typename T, int N>
__global__ void append(const T* qkv, T* keys, T* values, std::int64_t seq, std::int64_t positions,
                       std::int64_t first_position, int q_packs, int kv_packs) {
  const std::int64_t n = blockIdx.x;
  const std::int64_t b = n / seq;
  const T* from = qkv + (n * (q_packs + 2 * kv_packs) + q_packs) * N;
  const std::int64_t to = (b * positions + first_position + n % seq) * kv_packs * N;
  for (int p = static_cast<int>(threadIdx.x); p < 2 * kv_packs; p += static_cast<int>(blockDim.x)) {
    T* cache = p < kv_packs ? keys : values;
    Pack<T, N>::load(from + p * N).store(cache + to + p % kv_packs * N);
  }
}

}  // namespace

void launch(const KvCacheAppend& op, cudaStream_t stream) {
  const AttentionShape& shape = op.shape;
  const std::int64_t positions = op.keys.shape()[1];
  expect(op.first_position + shape.seq <= positions,
         "kv_cache_append: the cache has no room for the tokens");
  with_element(op.qkv.format(), [&](auto element) {
    using T = decltype(element);
    const bool packed =
        is_packed<T>(shape.q_width(), {op.qkv.data(), op.keys.data(), op.values.data()}) &&
        is_packed<T>(shape.kv_width(), {});
    with_pack<T>(packed, [&](auto size) {
      constexpr int kSize = decltype(size)::value;
      const int q_packs = static_cast<int>(shape.q_width() / kSize);
      const int kv_packs = static_cast<int>(shape.kv_width() / kSize);
      start({"kv_cache_append", static_cast<unsigned>(shape.tokens()),
             whole_warps(2 * kv_packs, 512), stream},
            append<T, kSize>, op.qkv.as<T>(), op.keys.as<T>(), op.values.as<T>(), shape.seq,
            positions, op.first_position, q_packs, kv_packs);
    });
  });
}

}  // namespace vramfit
