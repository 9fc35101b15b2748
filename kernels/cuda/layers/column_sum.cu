#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/base/launch.h"
#include "kernels/cuda/layers/column_partials.h"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

using namespace gpu;

/// Warps of a block: each takes every kWarps-th row, and their sums are added in order.
constexpr int kWarps = 8;

/// A block sums a warp's width of packs over one group of rows.
template <typename T, int N>
__global__ void __launch_bounds__(kWarp* kWarps)
    sum_groups(const T* dy, std::int64_t rows, int packs, float* partials) {
  __shared__ float sums[kWarps][kWarp * N];
  const int lane = static_cast<int>(threadIdx.x);
  const int warp = static_cast<int>(threadIdx.y);
  const std::int64_t group = blockIdx.y;
  const std::int64_t groups = gridDim.y;
  const std::int64_t width = std::int64_t{packs} * N;
  const std::int64_t pack = std::int64_t{blockIdx.x} * kWarp + lane;
  const std::int64_t end = (group + 1) * rows / groups;

  Floats<N> sum{};
  if (pack < packs) {
#pragma unroll 4
    for (std::int64_t row = group * rows / groups + warp; row < end; row += kWarps) {
      const Floats<N> values = load_floats<T, N>(dy + row * width + pack * N);
#pragma unroll
      for (int i = 0; i < N; ++i) sum[i] += values[i];
    }
  }
#pragma unroll
  for (int i = 0; i < N; ++i) sums[warp][i * kWarp + lane] = sum[i];
  __syncthreads();
  for (int column = warp * kWarp + lane; column < kWarp * N; column += kWarp * kWarps) {
    const std::int64_t to = std::int64_t{blockIdx.x} * kWarp * N + column;
    if (to >= width) break;
    float total = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) total += sums[w][column % N * kWarp + column / N];
    partials[group * width + to] = total;
  }
}

/// Warps for the sums of partials: as many as possible, so that all loads are in flight at once.
constexpr int kPartialWarps = 32;

template <typename T>
struct Targets {
  T* to[2];
  bool accumulate[2];
};

/// A block sums a warp's width of columns of one target.
template <typename T>
__global__ void __launch_bounds__(kWarp* kPartialWarps)
    sum_partials_kernel(const float* partials, int groups, std::int64_t width, Targets<T> targets) {
  __shared__ float sums[kPartialWarps][kWarp];
  const int lane = static_cast<int>(threadIdx.x);
  const int warp = static_cast<int>(threadIdx.y);
  const std::int64_t column = std::int64_t{blockIdx.x} * kWarp + lane;
  const float* own = partials + blockIdx.y * groups * width;
  float sum = 0;
  if (column < width) {
#pragma unroll 8
    for (int group = warp; group < groups; group += kPartialWarps) {
      sum += own[group * width + column];
    }
  }
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || column >= width) return;
  Floats<1> total{};
#pragma unroll
  for (int w = 0; w < kPartialWarps; ++w) total[0] += sums[w][lane];
  put<T, 1>(targets.to[blockIdx.y] + column, total, targets.accumulate[blockIdx.y]);
}

}  // namespace

void gpu::sum_partials(const float* partials, std::int64_t groups, const ColumnTarget& first,
                       const ColumnTarget& second, cudaStream_t stream) {
  const std::int64_t width = first.to->stored().elements();
  const unsigned count = second.to == nullptr ? 1 : 2;
  with_element(first.to->format(), [&](auto element) {
    using T = decltype(element);
    const Targets<T> targets = {{first.to->as<T>(), count == 2 ? second.to->as<T>() : nullptr},
                                {first.accumulate, second.accumulate}};
    const dim3 grid(static_cast<unsigned>(ceil_divide(width, kWarp)), count);
    start({"sum_partials", grid, dim3(kWarp, kPartialWarps), stream}, sum_partials_kernel<T>,
          partials, static_cast<int>(groups), width, targets);
  });
}

void launch(const BiasBackward& op, cudaStream_t stream) {
  const std::int64_t rows = op.dy.shape()[0];
  const std::int64_t width = op.dy.shape()[1];
  const std::int64_t groups = column_sum_groups(rows);
  expect(op.partials.shape() == bias_partials_shape(rows, width),
         "bias_backward: partials are not bias_partials_shape");
  auto* partials = op.partials.as<float>();
  with_element(op.dy.format(), [&](auto element) {
    using T = decltype(element);
    with_pack<T>(is_packed<T>(width, {op.dy.data()}), [&](auto size) {
      constexpr int kSize = decltype(size)::value;
      const int packs = static_cast<int>(width / kSize);
      const dim3 grid(static_cast<unsigned>(ceil_divide(packs, kWarp)),
                      static_cast<unsigned>(groups));
      start({"bias_backward", grid, dim3(kWarp, kWarps), stream}, sum_groups<T, kSize>,
            op.dy.as<T>(), rows, packs, partials);
    });
  });
  sum_partials(partials, groups, {&op.dbias, op.accumulate}, {nullptr, false}, stream);
}

}  // namespace vramfit
