#include <limits>

#include "kernels/cuda/quantized/codes.cuh"
#include "kernels/cuda/quantized/quantized_linear.h"

namespace vramfit {
namespace {

using namespace gpu;

constexpr int kThreads = 256;

/// The packs of a part of a matrix: `width` of each row, which are `step` apart.
struct Part {
  std::int64_t first;
  std::int64_t packs;
  int width;
  int step;
};

/// One thread per 16 bytes of codes.
template <typename T, typename Codes>
__global__ void __launch_bounds__(kThreads)
    dequantize(const Codes codes, const float* row_scales, const Part part, T* to) {
  __shared__ typename Codes::Table table;
  Codes::fill(table);
  __syncthreads();
  const std::int64_t pack = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (pack >= part.packs) return;
  const auto row =
      static_cast<std::int64_t>(static_cast<unsigned>(pack) / static_cast<unsigned>(part.width));
  const std::int64_t from = part.first + row * part.step + (pack - row * part.width);
  const std::int64_t element = from * Codes::kCodes;
  Floats<Codes::kCodes> values = codes.values(__ldcs(codes.pack(element)), element, table);
  float scale = codes.scale(element);
  if constexpr (Codes::kRowScales) scale = row_scales[row];
#pragma unroll
  for (int i = 0; i < Codes::kCodes; ++i) values[i] *= scale;
  store_floats<T, Codes::kCodes>(to + pack * Codes::kCodes, values);
}

}  // namespace

void launch(const Dequantize& op, cudaStream_t stream) {
  const std::int64_t width = op.weight.stored()[1];
  expect(op.rows * op.columns <= op.to.stored().elements(), "dequantize: more than there is room");
  with_element(op.to.format(), [&](auto element) {
    using T = decltype(element);
    with_codes(op.weight, [&](auto codes) {
      using Codes = decltype(codes);
      expect(width % Codes::kCodes == 0 && op.first_column % Codes::kCodes == 0 &&
                 op.columns % Codes::kCodes == 0,
             "dequantize: rows are whole packs of codes");
      expect(op.rows * op.columns / Codes::kCodes <= std::numeric_limits<int>::max(),
             "dequantize: a slab is small");
      const Part part = {(op.first_row * width + op.first_column) / Codes::kCodes,
                         op.rows * op.columns / Codes::kCodes,
                         static_cast<int>(op.columns / Codes::kCodes),
                         static_cast<int>(width / Codes::kCodes)};
      const float* scales = Codes::kRowScales ? op.scales->as<float>() + op.first_row : nullptr;
      start({"dequantize", ceil_divide(part.packs, kThreads), kThreads, stream},
            dequantize<T, Codes>, codes, scales, part, op.to.as<T>());
    });
  });
}

}  // namespace vramfit
