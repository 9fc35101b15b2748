#include "kernels/cuda/quantized/codes.cuh"
#include "kernels/cuda/quantized/quantized_linear.h"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

using namespace gpu;

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * kWarp;

/// kCount neighbouring elements of x; those of 8 bits without their row's scale.
template <int kCount, typename X>
__device__ Floats<kCount> inputs(const X* from) {
  if constexpr (sizeof(X) == 1) {
    return EightBits<X>::values(*reinterpret_cast<const uint4*>(from), 0, {});
  } else {
    return load_floats<X, kCount>(from);
  }
}

template <typename T>
struct Fused {
  const float* x_scales;       ///< null: x is in T
  const float* weight_scales;  ///< null: of 4 bits
  const T* bias;
  const T* residual;
  T* y;
  int rows;
  int out;
  int packs;  ///< of codes, in a row of the weight
};

/// One warp per row of the weight, whose lanes read neighbouring packs. kRows: at least the rows of
/// x; those beyond read the last one again.
template <typename T, typename X, typename Codes, int kRows>
__global__ void __launch_bounds__(kThreads)
    fused_linear(const Fused<T> f, const X* x, const Codes codes) {
  constexpr int kCodes = Codes::kCodes;
  __shared__ typename Codes::Table table;
  Codes::fill(table);
  __syncthreads();
  const int o = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / kWarp;
  if (o >= f.out) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t width = std::int64_t{f.packs} * kCodes;
  float sums[kRows] = {};
#pragma unroll 4
  for (int p = lane; p < f.packs; p += kWarp) {
    const std::int64_t element = o * width + std::int64_t{p} * kCodes;
    const Floats<kCodes> values = codes.values(__ldcs(codes.pack(element)), element, table);
    const float scale = codes.scale(element);
#pragma unroll
    for (int n = 0; n < kRows; ++n) {
      const X* row = x + min(n, f.rows - 1) * width + std::int64_t{p} * kCodes;
      const Floats<kCodes> multiplied = inputs<kCodes>(row);
      float sum = 0;
#pragma unroll
      for (int i = 0; i < kCodes; ++i) sum += values[i] * multiplied[i];
      sums[n] += sum * scale;
    }
  }
  const float weight_scale = Codes::kRowScales ? f.weight_scales[o] : 1.0F;
#pragma unroll
  for (int n = 0; n < kRows; ++n) {
    float y = warp_sum(sums[n]) * weight_scale;
    if (lane != 0 || n >= f.rows) continue;
    if (f.x_scales != nullptr) y *= f.x_scales[n];
    if (f.bias != nullptr) y += to_float(f.bias[o]);
    const std::int64_t at = std::int64_t{n} * f.out + o;
    if (f.residual != nullptr) y += to_float(f.residual[at]);
    f.y[at] = from_float<T>(y);
  }
}

/// Calls `body` with a number of rows that kernels are made for, as a Constant.
template <typename Body>
void with_rows(std::int64_t rows, const Body& body) {
  if (rows == 1) return body(Constant<1>{});
  if (rows <= 2) return body(Constant<2>{});
  if (rows <= 4) return body(Constant<4>{});
  if (rows <= 8) return body(Constant<8>{});
  body(Constant<16>{});
}

template <typename T, typename X, typename Codes>
void launch_rows(const LinearForward& op, const Codes& codes, cudaStream_t stream) {
  const std::int64_t in = op.weight.stored()[1];
  const std::int64_t out = op.weight.stored()[0];
  expect(in % Codes::kCodes == 0, "linear: rows are whole packs of codes");
  const auto floats = [](const Tensor* scales) {
    return scales == nullptr ? nullptr : scales->as<const float>();
  };
  const auto elements = [](const Tensor* tensor) {
    return tensor == nullptr ? nullptr : tensor->as<const T>();
  };
  const Fused<T> fused{floats(op.quantized.x_scales),
                       floats(op.quantized.weight_scales),
                       elements(op.bias),
                       elements(op.residual),
                       op.y.as<T>(),
                       static_cast<int>(op.x.shape()[0]),
                       static_cast<int>(out),
                       static_cast<int>(in / Codes::kCodes)};
  with_rows(op.x.shape()[0], [&](auto rows) {
    start({"linear", ceil_divide(out, kWarps), kThreads, stream},
          fused_linear<T, X, Codes, decltype(rows)::value>, fused, op.x.as<const X>(), codes);
  });
}

}  // namespace

void launch_fused_linear(const LinearForward& op, cudaStream_t stream) {
  expect(op.x.shape()[0] <= kFusedRows, "linear: more rows than are multiplied at once");
  with_element(op.y.format(), [&](auto element) {
    using T = decltype(element);
    with_codes(op.weight, [&](auto codes) {
      using Codes = decltype(codes);
      if constexpr (std::is_same_v<Codes, Int8Codes>) {
        if (op.x.format() == Format(DType::Int8)) {
          return launch_rows<T, std::int8_t>(op, codes, stream);
        }
      }
      if constexpr (std::is_same_v<Codes, Fp8Codes>) {
        if (op.x.format() == Format(DType::Fp8)) {
          return launch_rows<T, __nv_fp8_e4m3>(op, codes, stream);
        }
      }
      expect(op.x.format() == op.y.format(), "linear: rows are of the format that is written");
      launch_rows<T, T>(op, codes, stream);
    });
  });
}

}  // namespace vramfit
