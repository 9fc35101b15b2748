#include "kernels/cpu/quantized_linear.h"

#include <vector>

#include "kernels/cpu/matrix.h"
#include "kernels/cpu/quantized_weight.h"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

/// The workspace that the contract gives is there, though plain loops write no weights back.
void require_room(const LinearForward& op) {
  const bool many = op.x.shape()[0] > kFusedRows && op.quantized.x_scales == nullptr;
  require(many == (op.quantized.dequantized != nullptr),
          "linear: weights of many rows are dequantised first, and those alone");
  if (!many) return;
  const Shape& weight = op.weight.stored();
  require(*op.quantized.dequantized, op.y.format(),
          dequantized_rows(weight[0], weight[1], op.y.format()) * weight[1]);
}

template <typename Input, typename Element>
void linear(const LinearForward& op) {
  const std::int64_t rows = op.x.shape()[0];
  const std::int64_t in = op.weight.stored()[1];
  const std::int64_t out = op.weight.stored()[0];
  require_room(op);
  const auto x = input<Input>(op.x, rows, in);
  const float* x_scales = input<float>(op.quantized.x_scales, rows);
  const QuantizedWeight weight(op.weight, op.quantized.weight_scales);
  const Element* bias = input<Element>(op.bias, out);
  const Element* residual = input<Element>(op.residual, rows * out);
  const auto y = output<Element>(op.y, rows, out);
  std::vector<float> read(static_cast<std::size_t>(in));
  for (std::int64_t o = 0; o < out; ++o) {
    for (std::int64_t i = 0; i < in; ++i) read[static_cast<std::size_t>(i)] = weight.value(o, i);
    for (std::int64_t n = 0; n < rows; ++n) {
      double sum = 0;  // sums of int8's products are exact
      for (std::int64_t i = 0; i < in; ++i) {
        sum += static_cast<double>(static_cast<float>(x[n][i])) * read[static_cast<std::size_t>(i)];
      }
      sum *= static_cast<double>(weight.row_scale(o)) * (x_scales == nullptr ? 1.0F : x_scales[n]);
      if (bias != nullptr) sum += static_cast<double>(static_cast<float>(bias[o]));
      if (residual != nullptr)
        sum += static_cast<double>(static_cast<float>(residual[n * out + o]));
      y[n][o] = static_cast<Element>(static_cast<float>(sum));
    }
  }
}

}  // namespace

void quantized_linear(const LinearForward& op) {
  with_element(op.y.format(), [&op](auto e) {
    using Element = decltype(e);
    if (op.x.format() == Format(DType::Int8)) return linear<std::int8_t, Element>(op);
    if (op.x.format() == Format(DType::Fp8)) return linear<E4m3, Element>(op);
    linear<Element, Element>(op);
  });
}

}  // namespace vramfit
