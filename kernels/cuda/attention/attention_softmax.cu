#include "kernels/cuda/base/approximate.cuh"
#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/base/launch.h"

namespace vramfit {
namespace {

using namespace gpu;

// One block per row of (B, a, T, T), held in registers: row t has t + 1 scores that count.
// What lies above the diagonal is never read, only written.

/// Whether any of the pack's elements lies on or below the diagonal.
template <int N>
__device__ bool counts(int p, int t) {
  return p * N <= t;
}

template <typename T, int N, int kPacks>
__global__ void __launch_bounds__(kRowThreads<kPacks>) softmax(T* scores, int seq, float scale) {
  __shared__ float shared[2][kMaxWarps];
  T* row = scores + std::int64_t{blockIdx.x} * seq;
  const int t = static_cast<int>(blockIdx.x % static_cast<unsigned>(seq));
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const int packs = seq / N;
  scale *= kLog2E;

  Pack<T, N> kept[kPacks];
  float largest = kLowest;
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const int p = thread + k * threads;
    if (!counts<N>(p, t)) continue;
    kept[k] = Pack<T, N>::load(row + p * N);
    const Floats<N> x = kept[k].floats();
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (p * N + i <= t) largest = fmaxf(largest, x[i]);
    }
  }
  largest = block_max(largest, shared[0]);
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const int p = thread + k * threads;
    if (!counts<N>(p, t)) continue;
    const Floats<N> x = kept[k].floats();
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (p * N + i <= t) sum += power_of_two((x[i] - largest) * scale);
    }
  }
  const float inverse = 1.0F / block_sum(sum, shared[1]);
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const int p = thread + k * threads;
    if (p >= packs) continue;
    Floats<N> x{};
    if (counts<N>(p, t)) {
      x = kept[k].floats();
#pragma unroll
      for (int i = 0; i < N; ++i) {
        x[i] = p * N + i <= t ? power_of_two((x[i] - largest) * scale) * inverse : 0.0F;
      }
    }
    store_floats<T, N>(row + p * N, x);
  }
}

template <typename T, int N, int kPacks>
__global__ void __launch_bounds__(kRowThreads<kPacks>)
    softmax_backward(const T* probabilities, T* dscores, int seq, float scale) {
  __shared__ float shared[kMaxWarps];
  const T* row = probabilities + std::int64_t{blockIdx.x} * seq;
  T* drow = dscores + std::int64_t{blockIdx.x} * seq;
  const int t = static_cast<int>(blockIdx.x % static_cast<unsigned>(seq));
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const int packs = seq / N;

  Pack<T, N> kept_p[kPacks];
  Pack<T, N> kept_d[kPacks];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const int p = thread + k * threads;
    if (!counts<N>(p, t)) continue;
    kept_p[k] = Pack<T, N>::load(row + p * N);
    kept_d[k] = Pack<T, N>::load(drow + p * N);
    const Floats<N> probability = kept_p[k].floats();
    const Floats<N> d = kept_d[k].floats();
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (p * N + i <= t) sum += probability[i] * d[i];
    }
  }
  sum = block_sum(sum, shared);
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const int p = thread + k * threads;
    if (p >= packs) continue;
    Floats<N> d{};
    if (counts<N>(p, t)) {
      const Floats<N> probability = kept_p[k].floats();
      d = kept_d[k].floats();
#pragma unroll
      for (int i = 0; i < N; ++i) {
        d[i] = p * N + i <= t ? probability[i] * (d[i] - sum) * scale : 0.0F;
      }
    }
    store_floats<T, N>(drow + p * N, d);
  }
}

unsigned rows_of(const AttentionShape& shape) {
  return static_cast<unsigned>(shape.tokens() * shape.heads);
}

}  // namespace

void launch(const AttentionSoftmax& op, cudaStream_t stream) {
  const std::int64_t seq = op.shape.seq;
  with_element(op.scores.format(), [&](auto element) {
    using T = decltype(element);
    with_pack<T>(is_packed<T>(seq, {op.scores.data()}), [&](auto size) {
      constexpr int kSize = decltype(size)::value;
      with_row_in_registers(seq / kSize, "attention_softmax", [&](auto packs, int threads) {
        start({"attention_softmax", rows_of(op.shape), threads, stream},
              softmax<T, kSize, decltype(packs)::value>, op.scores.as<T>(), static_cast<int>(seq),
              op.scale);
      });
    });
  });
}

void launch(const AttentionSoftmaxBackward& op, cudaStream_t stream) {
  const std::int64_t seq = op.shape.seq;
  with_element(op.dscores.format(), [&](auto element) {
    using T = decltype(element);
    const bool packed = is_packed<T>(seq, {op.probabilities.data(), op.dscores.data()});
    with_pack<T>(packed, [&](auto size) {
      constexpr int kSize = decltype(size)::value;
      with_row_in_registers(
          seq / kSize, "attention_softmax_backward", [&](auto packs, int threads) {
            start({"attention_softmax_backward", rows_of(op.shape), threads, stream},
                  softmax_backward<T, kSize, decltype(packs)::value>, op.probabilities.as<T>(),
                  op.dscores.as<T>(), static_cast<int>(seq), op.scale);
          });
    });
  });
}

}  // namespace vramfit
