#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/base/launch.h"

// Single tokens of a sequence: the last, and the next one.

namespace vramfit {
namespace {

using namespace gpu;

constexpr int kThreads = 1024;

template <typename T, int N>
__global__ void last_token(const T* x, std::int64_t seq, const std::int32_t* counts, int packs,
                           T* out) {
  take_turn();
  const std::int64_t b = blockIdx.x;
  const std::int64_t last = b * seq + (counts == nullptr ? seq : counts[b]) - 1;
  const std::int64_t width = std::int64_t{packs} * N;
  for (int p = static_cast<int>(threadIdx.x); p < packs; p += static_cast<int>(blockDim.x)) {
    const T* from = x + last * width + std::int64_t{p} * N;
    Pack<T, N>::load(from).store(out + b * width + std::int64_t{p} * N);
  }
}

/// The index of the largest; the first of equals.
struct Largest {
  float value = kLowest;
  int index = INT32_MAX;

  __device__ void meet(float other, int at) {
    if (other > value || (other == value && at < index)) {
      value = other;
      index = at;
    }
  }
  __device__ void meet_lanes() {
#pragma unroll
    for (int mask = kWarp / 2; mask > 0; mask /= 2) {
      const float other = __shfl_xor_sync(kWholeWarp, value, mask);
      meet(other, __shfl_xor_sync(kWholeWarp, index, mask));
    }
  }
};

template <typename T, int N>
__global__ void __launch_bounds__(kThreads)
    argmax(const T* logits, int vocab, std::int64_t stored, std::int32_t* tokens) {
  __shared__ Largest warps[kMaxWarps];
  take_turn();
  const T* row = logits + blockIdx.x * stored;
  const int thread = static_cast<int>(threadIdx.x);
  Largest own;
#pragma unroll 4
  for (int first = thread * N; first < vocab; first += kThreads * N) {
    const Floats<N> x = load_floats<T, N>(row + first);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (first + i < vocab) own.meet(x[i], first + i);
    }
  }
  own.meet_lanes();
  if (thread % kWarp == 0) warps[thread / kWarp] = own;
  __syncthreads();
  if (thread >= kWarp) return;
  own = warps[thread];
  own.meet_lanes();
  // In a row of nothing above -infinity the first is the largest.
  if (thread == 0) tokens[blockIdx.x] = own.index == INT32_MAX ? 0 : own.index;
}

__global__ void advance(std::int32_t* counts, int count, int by) {
  take_turn();
  const int b = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (b < count) counts[b] += by;
}

}  // namespace

void launch(const Advance& op, cudaStream_t stream) {
  const int count = static_cast<int>(op.counts.shape().elements());
  start({"advance", ceil_divide(count, kThreads), whole_warps(count, kThreads), stream, 0, true},
        advance, op.counts.as<std::int32_t>(), count, static_cast<int>(op.by));
}

void launch(const LastToken& op, cudaStream_t stream) {
  const std::int64_t width = op.out.shape()[1];
  with_element(op.x.format(), [&](auto element) {
    using T = decltype(element);
    with_pack<T>(is_packed<T>(width, {op.x.data(), op.out.data()}), [&](auto size) {
      constexpr int kSize = decltype(size)::value;
      const int packs = static_cast<int>(width / kSize);
      start({"last_token", static_cast<unsigned>(op.out.shape()[0]), whole_warps(packs), stream, 0,
             true},
            last_token<T, kSize>, op.x.as<T>(), op.seq, integers_of(op.counts), packs,
            op.out.as<T>());
    });
  });
}

void launch(const Argmax& op, cudaStream_t stream) {
  const std::int64_t stored = op.logits.shape()[1];
  expect(op.vocab <= stored, "argmax: there are fewer logits than tokens");
  with_element(op.logits.format(), [&](auto element) {
    using T = decltype(element);
    with_pack<T>(is_packed<T>(stored, {op.logits.data()}), [&](auto size) {
      start({"argmax", static_cast<unsigned>(op.logits.shape()[0]), kThreads, stream, 0, true},
            argmax<T, decltype(size)::value>, op.logits.as<T>(), static_cast<int>(op.vocab), stored,
            op.tokens.as<std::int32_t>());
    });
  });
}

}  // namespace vramfit
