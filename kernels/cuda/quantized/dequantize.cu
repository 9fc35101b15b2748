#include "kernels/cuda/quantized/codes.cuh"
#include "kernels/cuda/quantized/quantized_linear.h"

namespace vramfit {
namespace {

using namespace gpu;

/// Packs of a thread, all of whose codes are on their way at once.
constexpr int kAtOnce = 2;

/// A part of a matrix, in packs of codes.
struct Part {
  std::int64_t first;  ///< pack of the matrix
  int width;           ///< of a row of the part
  int step;            ///< from a row of the matrix to the next
};

/// A block's threads take neighbouring packs of one row, and write whole lines.
template <typename T, typename Codes>
__global__ void __launch_bounds__(RowPieces::kMostThreads)
    dequantize(const Codes codes, const float* row_scales, const Part part, T* to) {
  __shared__ typename Codes::Table table;
  Codes::fill(table);
  __syncthreads();
  const std::int64_t row = blockIdx.x;
  const auto threads = static_cast<int>(blockDim.x);
  const int first =
      static_cast<int>(blockIdx.y) * threads * kAtOnce + static_cast<int>(threadIdx.x);
  const auto element = [&](int k) {
    return (part.first + row * part.step + first + k * threads) * Codes::kCodes;
  };
  typename Codes::Pack packs[kAtOnce];
  float scales[kAtOnce];
#pragma unroll
  for (int k = 0; k < kAtOnce; ++k) {
    if (first + k * threads >= part.width) continue;
    packs[k] = __ldcs(codes.pack(element(k)));
    scales[k] = Codes::kRowScales ? row_scales[row] : codes.scale(element(k));
  }
#pragma unroll
  for (int k = 0; k < kAtOnce; ++k) {
    const int pack = first + k * threads;
    if (pack >= part.width) continue;
    Floats<Codes::kCodes> values = codes.values(packs[k], element(k), table);
#pragma unroll
    for (int i = 0; i < Codes::kCodes; ++i) values[i] *= scales[k];
    store_floats<T, Codes::kCodes>(to + (row * part.width + pack) * Codes::kCodes, values);
  }
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
      const Part part = {(op.first_row * width + op.first_column) / Codes::kCodes,
                         static_cast<int>(op.columns / Codes::kCodes),
                         static_cast<int>(width / Codes::kCodes)};
      const RowPieces on(op.rows, ceil_divide(part.width, kAtOnce));
      const float* scales = Codes::kRowScales ? op.scales->as<float>() + op.first_row : nullptr;
      start({"dequantize", on.grid, on.threads, stream}, dequantize<T, Codes>, codes, scales, part,
            op.to.as<T>());
    });
  });
}

}  // namespace vramfit
