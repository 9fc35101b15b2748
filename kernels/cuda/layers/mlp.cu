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

/// The largest magnitudes that a thread has seen.
struct Largest {
  float act = 0;
  float pre = 0;
};

/// Of one pack.
template <typename T, int N, ActivationKind kKind>
__device__ Largest activate_pack(const T* pre, T* act, std::int64_t width, int p) {
  constexpr bool kGated = kKind == ActivationKind::SwiGlu;
  const T* gate = pre + blockIdx.x * width * (kGated ? 2 : 1) + std::int64_t{p} * N;
  Floats<N> values = load_floats<T, N>(gate);
  Largest largest;
  largest.pre = largest_of(values);
  if constexpr (kGated) {
    const Floats<N> up = load_floats<T, N>(gate + width);
    largest.pre = fmaxf(largest.pre, largest_of(up));
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = silu(values[i]).value * up[i];
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = gelu(values[i]).value;
  }
  store_floats<T, N>(act + blockIdx.x * width + std::int64_t{p} * N, values);
  largest.act = largest_of(values);
  return largest;
}

template <typename T, int N, ActivationKind kKind>
__global__ void __launch_bounds__(RowPieces::kMostThreads)
    activate(const T* pre, T* act, int packs, float* largest, float* pre_largest) {
  const int p = own_pack<N>();
  const std::int64_t width = std::int64_t{packs} * N;
  const Largest own = p < packs ? activate_pack<T, N, kKind>(pre, act, width, p) : Largest{};
  __shared__ float shared[2][kMaxWarps];
  if (largest != nullptr) join_largest<T>(own.act, shared[0], largest);
  if (pre_largest != nullptr) join_largest<T>(own.pre, shared[1], pre_largest);
}

/// Where pre is read: as it is stored, or as codes that share a scale.
template <typename T, int N, bool kOfCodes>
struct PreReader {
  const T* pre;
  const std::uint8_t* codes;
  const float* scale;

  __device__ Floats<N> operator()(std::int64_t at) const {
    if constexpr (!kOfCodes) return load_floats<T, N>(pre + at);
    Floats<N> values;
    if constexpr (N == 1) {
      values[0] = to_float(reinterpret_cast<const __nv_fp8_e4m3*>(codes)[at]);
    } else {
      const auto* words = reinterpret_cast<const std::uint32_t*>(codes + at);
#pragma unroll
      for (int w = 0; w < N / 4; ++w) unpack(words[w], values.values + 4 * w, __nv_fp8_e4m3{});
    }
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = to_float(from_float<T>(values[i] * *scale));
    return values;
  }
};

/// Of one pack; returns the largest magnitude that it writes to pre.
template <typename T, int N, ActivationKind kKind, bool kOfCodes>
__device__ float differentiate_pack(const PreReader<T, N, kOfCodes>& read, T* pre, T* act,
                                    std::int64_t width, int p) {
  constexpr bool kGated = kKind == ActivationKind::SwiGlu;
  const std::int64_t at = blockIdx.x * width * (kGated ? 2 : 1) + std::int64_t{p} * N;
  T* gate = pre + at;
  T* out = act + blockIdx.x * width + std::int64_t{p} * N;
  Floats<N> x = read(at);
  Floats<N> dact = load_floats<T, N>(out);
  float largest = 0;
  if constexpr (kGated) {
    Floats<N> up = read(at + width);
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

template <typename T, int N, ActivationKind kKind, bool kOfCodes>
__global__ void __launch_bounds__(RowPieces::kMostThreads)
    differentiate(const PreReader<T, N, kOfCodes> read, T* pre, T* act, int packs, float* largest) {
  const int p = own_pack<N>();
  const std::int64_t width = std::int64_t{packs} * N;
  const float own =
      p < packs ? differentiate_pack<T, N, kKind, kOfCodes>(read, pre, act, width, p) : 0.0F;
  __shared__ float shared[kMaxWarps];
  if (largest != nullptr) join_largest<T>(own, shared, largest);
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
          largest_or_null(op.largest), largest_or_null(op.pre_largest));
  });
}

void launch(const ActivateBackward& op, cudaStream_t stream) {
  const bool of_codes = op.codes != nullptr;
  expect(!of_codes || op.codes->format() == Format(DType::Fp8), "mlp: codes are of fp8");
  with_rows(op.pre, op.act, op.kind, [&](auto element, auto size, int packs, const RowPieces& on) {
    using T = decltype(element);
    constexpr int kSize = decltype(size)::value;
    const auto differentiated = [&](auto reader_of_codes) {
      constexpr bool kOfCodes = decltype(reader_of_codes)::value;
      const PreReader<T, kSize, kOfCodes> read = {
          op.pre.as<T>(), of_codes ? op.codes->as<const std::uint8_t>() : nullptr,
          of_codes ? op.codes_scale->as<const float>() + CodeScale::kScale : nullptr};
      const auto kernel = op.kind == ActivationKind::SwiGlu
                              ? differentiate<T, kSize, ActivationKind::SwiGlu, kOfCodes>
                              : differentiate<T, kSize, ActivationKind::Gelu, kOfCodes>;
      start({"activate_backward", on.grid, on.threads, stream}, kernel, read, op.pre.as<T>(),
            op.act.as<T>(), packs, largest_or_null(op.largest));
    };
    if (of_codes) return differentiated(std::true_type{});
    differentiated(std::false_type{});
  });
}

}  // namespace vramfit
