#include "kernels/cpu/quantized_linear.h"

#include <vector>

#include "kernels/cpu/linear_rows.h"
#include "kernels/cpu/quantize_row.h"
#include "kernels/cpu/quantized_weight.h"

namespace vramfit {
namespace {

/// Whether the weight is dequantised before it is multiplied.
bool is_written(const LinearForward& op) { return op.quantized.dequantized != nullptr; }

/// Few rows are normalised and quantised here; of more, codes come with their scales, and weights
/// that are dequantised first have the workspace for it, though plain loops write none back.
void require_contract(const LinearForward& op) {
  const QuantizedOperands& quantized = op.quantized;
  const std::int64_t rows = op.x.shape()[0];
  const bool few = rows <= kFusedRows;
  require(few || !quantized.quantizes_x, "linear: many rows are quantised before");
  require(!few || quantized.x_scales == nullptr, "linear: few rows are quantised by the linear");
  const bool written = is_written(op);
  const bool of_codes = quantized.x_scales != nullptr;
  require(written ? !few && !of_codes : rows <= kDirectRows || of_codes,
          "linear: weights of many rows are dequantised first, and those alone");
  if (!written) return;
  const Shape& weight = op.weight.stored();
  require(*quantized.dequantized, op.y.format(),
          dequantized_rows(weight[0], weight[1], op.y.format()) * weight[1]);
}

/// y from rows as they are multiplied; `scales`: theirs, or null.
template <typename Element, typename Rows>
void multiply(const LinearForward& op, const Rows& x, const float* scales) {
  const std::int64_t rows = op.x.shape()[0];
  const std::int64_t in = op.weight.stored()[1];
  const std::int64_t out = op.weight.stored()[0];
  const QuantizedWeight weight(op.weight, op.quantized.weight_scales);
  const bool rounded = !is_written(op);
  const Element* bias = input<Element>(op.bias, out);
  const Element* residual = input<Element>(op.residual, rows * out);
  const auto y = output<Element>(op.y, rows, out);
  std::vector<float> read(static_cast<std::size_t>(in));
  for (std::int64_t o = 0; o < out; ++o) {
    for (std::int64_t i = 0; i < in; ++i) {
      const auto [code, scale] = weight.value(o, i);
      const float value = rounded ? static_cast<float>(static_cast<Element>(code)) : code;
      read[static_cast<std::size_t>(i)] = value * scale;
    }
    for (std::int64_t n = 0; n < rows; ++n) {
      double sum = 0;  // sums of int8's products are exact
      for (std::int64_t i = 0; i < in; ++i) {
        sum += static_cast<double>(static_cast<float>(x[n][i])) * read[static_cast<std::size_t>(i)];
      }
      sum *= static_cast<double>(weight.row_scale(o)) * (scales == nullptr ? 1.0F : scales[n]);
      if (bias != nullptr) sum += static_cast<double>(static_cast<float>(bias[o]));
      if (residual != nullptr)
        sum += static_cast<double>(static_cast<float>(residual[n * out + o]));
      y[n][o] = static_cast<Element>(static_cast<float>(sum));
    }
  }
}

/// Few rows, quantised to `Code` first.
template <typename Code, typename Element>
void quantize_and_multiply(const LinearForward& op, const LinearRows<Element>& x) {
  const std::int64_t rows = op.x.shape()[0];
  const std::int64_t in = op.weight.stored()[1];
  std::vector<Code> codes(static_cast<std::size_t>(rows * in));
  std::vector<float> scales;
  const Matrix<Code> quantized{codes.data(), in};
  for (std::int64_t n = 0; n < rows; ++n) {
    scales.push_back(quantize_row(x[n], in, quantized[n]));
  }
  multiply<Element>(op, quantized, scales.data());
}

template <typename Element>
void linear(const LinearForward& op) {
  const std::int64_t rows = op.x.shape()[0];
  const std::int64_t in = op.weight.stored()[1];
  require_contract(op);
  if (op.quantized.x_scales != nullptr) {
    const float* scales = input<float>(op.quantized.x_scales, rows);
    return with_code(op.x.format().element(), [&](auto code) {
      multiply<Element>(op, input<decltype(code)>(op.x, rows, in), scales);
    });
  }
  const LinearRows<Element> x(op.x, op.norm, rows, in, op.quantized.quantizes_x);
  if (!op.quantized.quantizes_x) return multiply<Element>(op, x, nullptr);
  with_code(op.weight.format().element(),
            [&](auto code) { quantize_and_multiply<decltype(code)>(op, x); });
}

}  // namespace

void quantized_linear(const LinearForward& op) {
  with_element(op.y.format(), [&op](auto e) { linear<decltype(e)>(op); });
}

}  // namespace vramfit
