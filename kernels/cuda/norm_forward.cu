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
  int rows;
  int packs;
  float eps;
};

/// A team of warps goes through every so-many-th row, the next of which is on its way to its
/// registers while it works on one. Few packs a thread make short rows one warp's, which needs no
/// barrier.
template <int kPacks_, int kThreads_, int kBlocks_>
struct Team {
  static constexpr int kPacks = kPacks_;      ///< a thread holds of a row
  static constexpr int kThreads = kThreads_;  ///< of a block, at most
  static constexpr int kBlocks = kBlocks_;    ///< on a multiprocessor at once
};
using Short = Team<4, 128, 8>;
using Usual = Team<8, 128, 5>;
using Long = Team<8, 1024, 1>;

template <typename T, int N, typename Team, bool kLayerNorm>
__global__ void __launch_bounds__(Team::kThreads, Team::kBlocks) norm_forward(const Rows<T> rows) {
  constexpr int kPacks = Team::kPacks;
  __shared__ TeamSums<4, kMaxWarps> team_sums;
  team_sums.clear();
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const std::int64_t width = std::int64_t{rows.packs} * N;
  const float inverse_width = 1.0F / static_cast<float>(width);
  const auto inside = [&](int k) { return thread + k * threads < rows.packs; };
  const auto column = [&](int k) { return (thread + k * threads) * N; };
  const int stride = static_cast<int>(gridDim.x * blockDim.y);
  int row = static_cast<int>(blockIdx.x * blockDim.y + threadIdx.y);

  Pack<T, N> next[kPacks];
  const auto fetch = [&](int from) {
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      if (inside(k)) next[k] = Pack<T, N>::load(rows.x + from * width + column(k));
    }
  };
  if (row < rows.rows) fetch(row);
  for (int turn = 0; row < rows.rows; row += stride) {
    Pack<T, N> x[kPacks];
#pragma unroll
    for (int k = 0; k < kPacks; ++k) x[k] = next[k];
    if (row + stride < rows.rows) fetch(row + stride);

    float sum = 0;
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      if (!inside(k)) continue;
      const Floats<N> values = x[k].floats();
#pragma unroll
      for (int i = 0; i < N; ++i) sum += kLayerNorm ? values[i] : values[i] * values[i];
    }
    sum = team_sums.template sum<false>(sum, 0, turn).x;
    turn ^= 1;
    const float mean = kLayerNorm ? sum * inverse_width : 0.0F;
    if constexpr (kLayerNorm) {
      sum = 0;
#pragma unroll
      for (int k = 0; k < kPacks; ++k) {
        if (!inside(k)) continue;
        const Floats<N> values = x[k].floats();
#pragma unroll
        for (int i = 0; i < N; ++i) sum += (values[i] - mean) * (values[i] - mean);
      }
      sum = team_sums.template sum<false>(sum, 0, turn).x;
      turn ^= 1;
    }
    const float rstd = 1.0F / sqrtf(sum * inverse_width + rows.eps);
    if (thread == 0 && rows.rstd != nullptr) rows.rstd[row] = rstd;
    if (thread == 0 && rows.mean != nullptr) rows.mean[row] = mean;

#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      if (!inside(k)) continue;
      Floats<N> y = x[k].floats();
      const Floats<N> weight = load_floats<T, N>(rows.weight + column(k));
      Floats<N> bias{};
      if constexpr (kLayerNorm) bias = load_floats<T, N>(rows.bias + column(k));
#pragma unroll
      for (int i = 0; i < N; ++i) y[i] = fmaf((y[i] - mean) * rstd, weight[i], bias[i]);
      store_floats<T, N>(rows.y + row * width + column(k), y);
    }
  }
}

/// Calls `body` with the Team for rows of so many packs, and its threads.
template <typename Body>
void with_team(std::int64_t packs, const Body& body) {
  const auto threads = [&](auto team) {
    return whole_warps(ceil_divide(packs, decltype(team)::kPacks));
  };
  if (packs <= kWarp * Short::kPacks) return body(Short{}, threads(Short{}));
  if (packs <= Usual::kThreads * Usual::kPacks) return body(Usual{}, threads(Usual{}));
  if (packs <= Long::kThreads * Long::kPacks) return body(Long{}, threads(Long{}));
  throw BadInput(
      "norm_forward: a row is too long; at most 8192 elements, or as many packs of 16 bytes "
      "where its length is a multiple of 8 (fp32: of 4)");
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
                            static_cast<int>(op.x.shape()[0]),
                            static_cast<int>(width / kSize),
                            op.eps};
      with_team(rows.packs, [&](auto team, int threads) {
        using Team = decltype(team);
        const int teams = std::max(1, Team::kThreads == 128 ? 128 / threads : 1);
        const auto kernel =
            layer_norm ? norm_forward<T, kSize, Team, true> : norm_forward<T, kSize, Team, false>;
        const int blocks =
            std::min(ceil_divide(rows.rows, teams), Team::kBlocks * multiprocessors());
        const dim3 block(static_cast<unsigned>(threads), static_cast<unsigned>(teams));
        start({"norm_forward", static_cast<unsigned>(blocks), block, stream}, kernel, rows);
      });
    });
  });
}

}  // namespace vramfit
