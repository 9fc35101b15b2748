#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/base/launch.h"
#include "model/ops/random.h"

namespace vramfit {
namespace {

using namespace gpu;

constexpr int kThreads = 256;

/// Rounded after the product and after the sum, as the host does it: no fused multiply-add.
__device__ float normal(float mean, float deviation, std::uint64_t seed, std::int64_t i) {
  const float standard = random_normal(seed, static_cast<std::uint64_t>(i));
  return __fadd_rn(mean, __fmul_rn(deviation, standard));
}

template <typename T, int N>
__global__ void fill_normal(T* values, std::int64_t count, std::int64_t stored, float mean,
                            float deviation, std::uint64_t seed, std::int64_t drawn_first) {
  const std::int64_t first = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * N;
  if (first >= stored) return;
  Floats<N> drawn;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    drawn[i] = first + i < count ? normal(mean, deviation, seed, drawn_first + first + i) : 0.0F;
  }
  store_floats<T, N>(values + first, drawn);
}

__global__ void fill_tokens(std::int32_t* tokens, std::int64_t count, std::int64_t vocab,
                            std::uint64_t seed) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) tokens[i] = random_token(seed, static_cast<std::uint64_t>(i), vocab);
}

}  // namespace

void launch(const FillNormal& op, cudaStream_t stream) {
  const std::int64_t count = op.tensor.shape().elements();
  const std::int64_t stored = op.tensor.stored().elements();
  with_element(op.tensor.format(), [&](auto element) {
    using T = decltype(element);
    with_pack<T>(is_packed<T>(stored, {op.tensor.data()}), [&](auto size) {
      constexpr int kSize = decltype(size)::value;
      const int blocks = ceil_divide(stored, std::int64_t{kThreads} * kSize);
      start({"fill_normal", blocks, kThreads, stream}, fill_normal<T, kSize>, op.tensor.as<T>(),
            count, stored, op.mean, op.deviation, op.seed, op.first);
    });
  });
}

void launch(const FillTokens& op, cudaStream_t stream) {
  const std::int64_t count = op.tokens.shape().elements();
  start({"fill_tokens", ceil_divide(count, kThreads), kThreads, stream}, fill_tokens,
        op.tokens.as<std::int32_t>(), count, op.vocab, op.seed);
}

}  // namespace vramfit
