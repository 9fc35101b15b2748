#include "kernels/cuda/quantized/codes.cuh"
#include "kernels/cuda/quantized/quantized_linear.h"

namespace vramfit {
namespace {

using namespace gpu;

constexpr int kThreads = 256;

/// One thread per 16 bytes of codes.
template <typename T, typename Codes>
__global__ void __launch_bounds__(kThreads)
    dequantize(const Codes codes, const float* row_scales, std::int64_t first, std::int64_t packs,
               int row_packs, T* to) {
  __shared__ typename Codes::Table table;
  Codes::fill(table);
  __syncthreads();
  const std::int64_t pack = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (pack >= packs) return;
  const std::int64_t element = first + pack * Codes::kCodes;
  Floats<Codes::kCodes> values = codes.values(__ldcs(codes.pack(element)), element, table);
  float scale = codes.scale(element);
  if constexpr (Codes::kRowScales) scale = row_scales[pack / row_packs];
#pragma unroll
  for (int i = 0; i < Codes::kCodes; ++i) values[i] *= scale;
  store_floats<T, Codes::kCodes>(to + pack * Codes::kCodes, values);
}

}  // namespace

void launch(const Dequantize& op, cudaStream_t stream) {
  const std::int64_t width = op.weight.stored()[1];
  expect(op.rows * width <= op.to.stored().elements(), "dequantize: more rows than there is room");
  with_element(op.to.format(), [&](auto element) {
    using T = decltype(element);
    with_codes(op.weight, [&](auto codes) {
      using Codes = decltype(codes);
      expect(width % Codes::kCodes == 0, "dequantize: rows are whole packs of codes");
      const std::int64_t packs = op.rows * width / Codes::kCodes;
      const float* scales = Codes::kRowScales ? op.scales->as<float>() + op.first_row : nullptr;
      start({"dequantize", ceil_divide(packs, kThreads), kThreads, stream}, dequantize<T, Codes>,
            codes, scales, op.first_row * width, packs, static_cast<int>(width / Codes::kCodes),
            op.to.as<T>());
    });
  });
}

}  // namespace vramfit
