#include "kernels/cuda/dispatch.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/team_sums.cuh"

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
  std::int64_t rows;
  int packs;
  float eps;
};

/// Packs of a row that a thread holds: enough on their way to hide memory's latency, and a short
/// row is one warp's, which needs no barrier.
constexpr int kFewPacks = 4;
constexpr int kManyPacks = 8;
constexpr int kBlockThreads = 128;

template <int kPacks>
constexpr int kMostThreads = kPacks == kFewPacks ? kBlockThreads : kMaxWarps * kWarp;

/// A team of warps (threadIdx.y) a row, which is read once and held in registers.
template <typename T, int N, int kPacks, bool kLayerNorm>
__global__ void __launch_bounds__(kMostThreads<kPacks>) norm_forward(const Rows<T> rows) {
  __shared__ TeamSums<kBlockThreads / kWarp, kMaxWarps> team_sums;
  const std::int64_t row = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows.rows) return;  // the whole team does
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const std::int64_t width = std::int64_t{rows.packs} * N;
  const auto count = static_cast<float>(width);
  const auto pack = [&](int k) { return thread + k * threads; };
  const auto inside = [&](int k) { return pack(k) < rows.packs; };

  Pack<T, N> x[kPacks];
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    if (inside(k)) x[k] = Pack<T, N>::load(rows.x + row * width + pack(k) * N);
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    if (!inside(k)) continue;
    const Floats<N> values = x[k].floats();
#pragma unroll
    for (int i = 0; i < N; ++i) sum += kLayerNorm ? values[i] : values[i] * values[i];
  }
  sum = team_sums.template sum<false>(sum, 0, 0).x;
  const float mean = kLayerNorm ? sum / count : 0.0F;
  if constexpr (kLayerNorm) {
    sum = 0;
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      if (!inside(k)) continue;
      const Floats<N> values = x[k].floats();
#pragma unroll
      for (int i = 0; i < N; ++i) sum += (values[i] - mean) * (values[i] - mean);
    }
    sum = team_sums.template sum<false>(sum, 0, 1).x;
  }
  const float rstd = 1.0F / sqrtf(sum / count + rows.eps);
  if (thread == 0 && rows.rstd != nullptr) rows.rstd[row] = rstd;
  if (thread == 0 && rows.mean != nullptr) rows.mean[row] = mean;

#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    if (!inside(k)) continue;
    Floats<N> y = x[k].floats();
    const Floats<N> weight = load_floats<T, N>(rows.weight + pack(k) * N);
#pragma unroll
    for (int i = 0; i < N; ++i) y[i] = (y[i] - mean) * rstd * weight[i];
    if constexpr (kLayerNorm) {
      const Floats<N> bias = load_floats<T, N>(rows.bias + pack(k) * N);
#pragma unroll
      for (int i = 0; i < N; ++i) y[i] += bias[i];
    }
    store_floats<T, N>(rows.y + row * width + pack(k) * N, y);
  }
}

/// Calls `body` with the packs a thread holds, as a Constant, and the threads of a team.
template <typename Body>
void with_team(std::int64_t packs, const Body& body) {
  if (packs <= kWarp * kFewPacks) {
    body(Constant<kFewPacks>{}, kWarp);
  } else if (packs <= kMaxWarps * kWarp * kManyPacks) {
    body(Constant<kManyPacks>{}, whole_warps(ceil_divide(packs, kManyPacks)));
  } else {
    throw BadInput(
        "norm_forward: a row is too long; at most 8192 elements, or as many packs of 16 bytes "
        "where its length is a multiple of 8 (fp32: of 4)");
  }
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
  with_element(op.x.dtype(), [&](auto element) {
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
                            op.x.shape()[0],
                            static_cast<int>(width / kSize),
                            op.eps};
      with_team(rows.packs, [&](auto packs, int team) {
        constexpr int kPacks = decltype(packs)::value;
        const int teams = std::max(1, kBlockThreads / team);
        const auto kernel = layer_norm ? norm_forward<T, kSize, kPacks, true>
                                       : norm_forward<T, kSize, kPacks, false>;
        const dim3 block(static_cast<unsigned>(team), static_cast<unsigned>(teams));
        start({"norm_forward", static_cast<unsigned>(ceil_divide(rows.rows, teams)), block, stream},
              kernel, rows);
      });
    });
  });
}

}  // namespace vramfit
