#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/base/largest.cuh"
#include "kernels/cuda/base/launch.h"
#include "kernels/cuda/layers/activation.cuh"

namespace vramfit {
namespace {

using namespace gpu;

/// One thread per pack of a row of act: x counts rows, y the pieces of a row.
template <int N>
__device__ int own_pack() {
  return static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x);
}

/// Of one pack; returns the largest magnitude that it writes to act.
template <typename T, int N, ActivationKind kKind>
__device__ float activate_pack(const T* pre, T* act, std::int64_t width, int p) {
  constexpr bool kGated = kKind == ActivationKind::SwiGlu;
  const T* gate = pre + blockIdx.x * width * (kGated ? 2 : 1) + std::int64_t{p} * N;
  Floats<N> values = load_floats<T, N>(gate);
  if constexpr (kGated) {
    const Floats<N> up = load_floats<T, N>(gate + width);
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = silu(values[i]).value * up[i];
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = gelu(values[i]).value;
  }
  store_floats<T, N>(act + blockIdx.x * width + std::int64_t{p} * N, values);
  return largest_of(values);
}

template <typename T, int N, ActivationKind kKind>
__global__ void __launch_bounds__(512) activate(const T* pre, T* act, int packs, float* largest) {
  const int p = own_pack<N>();
  const std::int64_t width = std::int64_t{packs} * N;
  const float own = p < packs ? activate_pack<T, N, kKind>(pre, act, width, p) : 0.0F;
  if (largest != nullptr) join_largest<T>(own, largest);
}

/// Of one pack; returns the largest magnitude that it writes to pre.
template <typename T, int N, ActivationKind kKind>
__device__ float differentiate_pack(T* pre, T* act, std::int64_t width, int p) {
  constexpr bool kGated = kKind == ActivationKind::SwiGlu;
  T* gate = pre + blockIdx.x * width * (kGated ? 2 : 1) + std::int64_t{p} * N;
  T* out = act + blockIdx.x * width + std::int64_t{p} * N;
  Floats<N> x = load_floats<T, N>(gate);
  Floats<N> dact = load_floats<T, N>(out);
  float largest = 0;
  if constexpr (kGated) {
    Floats<N> up = load_floats<T, N>(gate + width);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const Curve curve = silu(x[i]);
      const float gradient = dact[i];
      dact[i] = curve.value * up[i];
      x[i] = gradient * up[i] * curve.slope;
      up[i] = gradient * curve.value;
    }
    store_floats<T, N>(gate + width, up);
    largest = largest_of(up);
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const Curve curve = gelu(x[i]);
      x[i] = dact[i] * curve.slope;
      dact[i] = curve.value;
    }
  }
  store_floats<T, N>(gate, x);
  store_floats<T, N>(out, dact);
  return fmaxf(largest, largest_of(x));
}

template <typename T, int N, ActivationKind kKind>
__global__ void __launch_bounds__(512) differentiate(T* pre, T* act, int packs, float* largest) {
  const int p = own_pack<N>();
  const std::int64_t width = std::int64_t{packs} * N;
  const float own = p < packs ? differentiate_pack<T, N, kKind>(pre, act, width, p) : 0.0F;
  if (largest != nullptr) join_largest<T>(own, largest);
}

template <typename Body>
void with_rows(const Tensor& pre, const Tensor& act, ActivationKind kind, const Body& body) {
  const std::int64_t width = act.shape()[1];
  expect(pre.shape()[1] == (kind == ActivationKind::SwiGlu ? 2 : 1) * width,
         "mlp: SwiGLU has a gate for each column, GELU has none");
  with_element(act.format(), [&](auto element) {
    using T = decltype(element);
    with_pack<T>(is_packed<T>(width, {pre.data(), act.data()}), [&](auto size) {
      const std::int64_t packs = width / decltype(size)::value;
      body(element, size, static_cast<int>(packs), RowPieces(act.shape()[0], packs));
    });
  });
}

}  // namespace

void launch(const Activate& op, cudaStream_t stream) {
  with_rows(op.pre, op.act, op.kind, [&](auto element, auto size, int packs, const RowPieces& on) {
    using T = decltype(element);
    constexpr int kSize = decltype(size)::value;
    const auto kernel = op.kind == ActivationKind::SwiGlu
                            ? activate<T, kSize, ActivationKind::SwiGlu>
                            : activate<T, kSize, ActivationKind::Gelu>;
    start({"activate", on.grid, on.threads, stream}, kernel, op.pre.as<T>(), op.act.as<T>(), packs,
          largest_or_null(op.largest));
  });
}

void launch(const ActivateBackward& op, cudaStream_t stream) {
  with_rows(op.pre, op.act, op.kind, [&](auto element, auto size, int packs, const RowPieces& on) {
    using T = decltype(element);
    constexpr int kSize = decltype(size)::value;
    const auto kernel = op.kind == ActivationKind::SwiGlu
                            ? differentiate<T, kSize, ActivationKind::SwiGlu>
                            : differentiate<T, kSize, ActivationKind::Gelu>;
    start({"activate_backward", on.grid, on.threads, stream}, kernel, op.pre.as<T>(),
          op.act.as<T>(), packs, largest_or_null(op.largest));
  });
}

}  // namespace vramfit
