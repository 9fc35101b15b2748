#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/base/largest.cuh"
#include "kernels/cuda/base/launch.h"

namespace vramfit {
namespace {

using namespace gpu;

template <typename T>
struct Rows {
  const T* x;
  const T* weight;
  const T* bias;
  T* y;
  float* rstd;
  float* mean;
  float* largest;
  int packs;
  float eps;
};

/// One block per row, which is read once and held in registers.
template <typename T, int N, int kPacks, bool kLayerNorm>
__global__ void __launch_bounds__(kRowThreads<kPacks>) norm_forward(const Rows<T> rows) {
  __shared__ float shared[3][kMaxWarps];
  take_turn();
  const std::int64_t row = blockIdx.x;
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const std::int64_t width = std::int64_t{rows.packs} * N;
  const auto count = static_cast<float>(width);

  Pack<T, N> x[kPacks];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const int p = thread + k * threads;
    if (p < rows.packs) {
      x[k] = Pack<T, N>::load(rows.x + row * width + p * N);
      const Floats<N> values = x[k].floats();
#pragma unroll
      for (int i = 0; i < N; ++i) sum += kLayerNorm ? values[i] : values[i] * values[i];
    }
  }
  sum = block_sum(sum, shared[0]);
  const float mean = kLayerNorm ? sum / count : 0.0F;
  if constexpr (kLayerNorm) {
    sum = 0;
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      if (thread + k * threads < rows.packs) {
        const Floats<N> values = x[k].floats();
#pragma unroll
        for (int i = 0; i < N; ++i) sum += (values[i] - mean) * (values[i] - mean);
      }
    }
    sum = block_sum(sum, shared[1]);
  }
  const float rstd = 1.0F / sqrtf(sum / count + rows.eps);
  if (thread == 0 && rows.rstd != nullptr) rows.rstd[row] = rstd;
  if (thread == 0 && rows.mean != nullptr) rows.mean[row] = mean;

  float largest = 0;
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const int p = thread + k * threads;
    if (p < rows.packs) {
      Floats<N> y = x[k].floats();
      const Floats<N> weight = load_floats<T, N>(rows.weight + p * N);
#pragma unroll
      for (int i = 0; i < N; ++i) y[i] = (y[i] - mean) * rstd * weight[i];
      if constexpr (kLayerNorm) {
        const Floats<N> bias = load_floats<T, N>(rows.bias + p * N);
#pragma unroll
        for (int i = 0; i < N; ++i) y[i] += bias[i];
      }
      store_floats<T, N>(rows.y + row * width + p * N, y);
      largest = fmaxf(largest, largest_of(y));
    }
  }
  if (rows.largest != nullptr) join_largest<T>(largest, shared[2], rows.largest);
}

template <typename T>
T* data_or_null(const Tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->as<T>();
}

}  // namespace

void launch(const NormForward& op, cudaStream_t stream) {
  const std::int64_t width = op.x.shape()[1];
  const bool layer_norm = op.kind == NormKind::LayerNorm;
  expect((op.bias != nullptr) == layer_norm, "norm_forward: LayerNorm, and it alone, has a bias");
  with_element(op.x.format(), [&](auto element) {
    using T = decltype(element);
    const T* bias = data_or_null<T>(op.bias);
    const bool packed = is_packed<T>(width, {op.x.data(), op.weight.data(), bias, op.y.data()});
    with_pack<T>(packed, [&](auto size) {
      constexpr int kSize = decltype(size)::value;
      const Rows<T> rows = {op.x.as<T>(),
                            op.weight.as<T>(),
                            bias,
                            op.y.as<T>(),
                            data_or_null<float>(op.rstd),
                            data_or_null<float>(op.mean),
                            largest_or_null(op.largest),
                            static_cast<int>(width / kSize),
                            op.eps};
      with_row_in_registers(rows.packs, "norm_forward", [&](auto packs, int threads) {
        constexpr int kPacks = decltype(packs)::value;
        const auto kernel = layer_norm ? norm_forward<T, kSize, kPacks, true>
                                       : norm_forward<T, kSize, kPacks, false>;
        start({"norm_forward", static_cast<unsigned>(op.x.shape()[0]), threads, stream, 0, true},
              kernel, rows);
      });
    });
  });
}

}  // namespace vramfit
