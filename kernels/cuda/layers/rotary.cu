#include "kernels/cuda/base/launch.h"
#include "kernels/cuda/layers/rotary.cuh"

namespace vramfit {
namespace {

using namespace gpu;

constexpr int kThreads = 256;

/// Angles a block works out at once: those of as many tokens as this has room for.
constexpr int kAngles = kThreads;

template <typename T>
struct Rotation {
  T* qkv;
  std::int64_t tokens;
  std::int64_t width;  ///< of a row of qkv
  std::int64_t seq;
  const std::int32_t* starts;  ///< of each sequence; null: 0
  int heads;
  int pairs;  ///< of a head
  int block_tokens;
  float direction;  ///< -1: backward
};

template <typename T, int N>
__global__ void __launch_bounds__(kThreads)
    rotate(const Rotation<T> r, const __grid_constant__ Frequencies frequencies) {
  __shared__ float2 turns[kAngles];
  const std::int64_t first = std::int64_t{blockIdx.x} * r.block_tokens;
  const int tokens =
      r.tokens - first < r.block_tokens ? static_cast<int>(r.tokens - first) : r.block_tokens;
  const int thread = static_cast<int>(threadIdx.x);
  for (int angle = thread; angle < tokens * r.pairs; angle += kThreads) {
    const std::int64_t token = first + angle / r.pairs;
    const std::int64_t position = start_of(r.starts, token / r.seq) + token % r.seq;
    const float2 turn = cosine_and_sine(position, frequencies.inverse[angle % r.pairs]);
    turns[angle] = {turn.x, turn.y * r.direction};
  }
  __syncthreads();

  const int packs = r.pairs / N;
  for (int i = thread; i < tokens * r.heads * packs; i += kThreads) {
    const int pair = i % packs * N;
    const int head = i / packs % r.heads;
    const int token = i / packs / r.heads;
    T* low = r.qkv + (first + token) * r.width + std::int64_t{head} * 2 * r.pairs + pair;
    T* high = low + r.pairs;
    Floats<N> a = load_floats<T, N>(low);
    Floats<N> b = load_floats<T, N>(high);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const float2 turn = turns[token * r.pairs + pair + j];
      const float before = a[j];
      a[j] = before * turn.x - b[j] * turn.y;
      b[j] = b[j] * turn.x + before * turn.y;
    }
    store_floats<T, N>(low, a);
    store_floats<T, N>(high, b);
  }
}

}  // namespace

void launch(const RotaryEmbedding& op, cudaStream_t stream) {
  const std::int64_t tokens = op.qkv.shape()[0];
  const std::int64_t width = op.qkv.shape()[1];
  const std::int64_t pairs = op.frequencies.pairs;
  expect(2 * pairs == op.head_dim, "rotary: heads are turned whole");
  const Frequencies frequencies(op.frequencies);
  const int block_tokens = static_cast<int>(kAngles / pairs);
  with_element(op.qkv.format(), [&](auto element) {
    using T = decltype(element);
    const Rotation<T> rotation = {op.qkv.as<T>(),
                                  tokens,
                                  width,
                                  op.seq,
                                  integers_of(op.starts),
                                  static_cast<int>(op.rotated_heads),
                                  static_cast<int>(pairs),
                                  block_tokens,
                                  op.backward ? -1.0F : 1.0F};
    const bool packed = is_packed<T>(width, {op.qkv.data()}) && is_packed<T>(pairs, {});
    with_pack<T>(packed, [&](auto size) {
      start({"rotary", ceil_divide(tokens, block_tokens), kThreads, stream},
            rotate<T, decltype(size)::value>, rotation, frequencies);
    });
  });
}

}  // namespace vramfit
