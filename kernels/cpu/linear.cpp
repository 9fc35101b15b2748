#include <vector>

#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/linear_rows.h"
#include "kernels/cpu/quantized_linear.h"
#include "kernels/cpu/quantized_weight.h"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

template <typename Element>
void forward(const LinearForward& op) {
  const std::int64_t rows = op.x.shape()[0];
  const std::int64_t in = op.weight.stored()[1];
  const std::int64_t out = op.weight.stored()[0];
  const LinearRows<Element> x(op.x, op.norm, rows, in);
  const auto weight = input<Element>(op.weight, out, in);
  const Element* bias = input<Element>(op.bias, out);
  const Element* residual = input<Element>(op.residual, rows * out);
  const auto y = output<Element>(op.y, rows, out);
  for (std::int64_t n = 0; n < rows; ++n) {
    dots(x[n], 1, weight[0], 1, in, in, out, [&](std::int64_t o, Accumulator<Element> sum) {
      if (bias != nullptr) sum += bias[o];
      if (residual != nullptr) sum += residual[n * out + o];
      y[n][o] = static_cast<Element>(sum);
    });
  }
}

/// A weight as a gradient is multiplied by it: one that is quantised is read into `read`, rather
/// than into the op's slab.
template <typename Element>
Matrix<const Element> multiplied(const LinearBackwardInput& op, std::vector<Element>& read) {
  const std::int64_t out = op.weight.stored()[0];
  const std::int64_t in = op.weight.stored()[1];
  const bool quantized = is_quantized(op.weight.format());
  require(quantized == (op.dequantized != nullptr),
          "linear: quantised weights are dequantised for backward, and those alone");
  if (!quantized) return input<Element>(op.weight, out, in);
  require(*op.dequantized, op.dy.format(), out * dequantized_columns(out, in, op.dy.format()));
  const QuantizedWeight weight(op.weight, op.weight_scales);
  read.reserve(static_cast<std::size_t>(out * in));
  for (std::int64_t o = 0; o < out; ++o) {
    for (std::int64_t i = 0; i < in; ++i) {
      const auto [code, scale] = weight.value(o, i);
      read.push_back(static_cast<Element>(code * scale * weight.row_scale(o)));
    }
  }
  return {read.data(), in};
}

template <typename Element>
void backward_input(const LinearBackwardInput& op) {
  const std::int64_t rows = op.dy.shape()[0];
  const std::int64_t in = op.weight.stored()[1];
  const std::int64_t out = op.weight.stored()[0];
  const auto dy = input<Element>(op.dy, rows, out);
  std::vector<Element> read;
  const auto weight = multiplied(op, read);
  const auto dx = output<Element>(op.dx, rows, in);
  for (std::int64_t n = 0; n < rows; ++n) {
    dots(dy[n], 1, weight[0], in, 1, out, in,
         [&](std::int64_t i, Accumulator<Element> sum) { store(dx[n][i], sum, op.accumulate); });
  }
}

template <typename Element>
void backward_bias(const BiasBackward& op) {
  const std::int64_t rows = op.dy.shape()[0];
  const std::int64_t out = op.dy.shape()[1];
  require(op.partials.shape() == bias_partials_shape(rows, out),
          "bias partials are not bias_partials_shape");
  const auto dy = input<Element>(op.dy, rows, out);
  Element* dbias = output<Element>(op.dbias, out);
  for (std::int64_t o = 0; o < out; ++o) {
    Accumulator<Element> sum = 0;
    for (std::int64_t n = 0; n < rows; ++n) sum += dy[n][o];
    store(dbias[o], sum, op.accumulate);
  }
}

template <typename Element>
void backward_weight(const LinearBackwardWeight& op) {
  const std::int64_t rows = op.x.shape()[0];
  const std::int64_t in = op.x.shape()[1];
  const std::int64_t out = op.dy.shape()[1];
  const auto x = input<Element>(op.x, rows, in);
  const auto dy = input<Element>(op.dy, rows, out);
  const auto dweight = output<Element>(op.dweight, out, in);
  for (std::int64_t o = 0; o < out; ++o) {
    dots(dy[0] + o, out, x[0], in, 1, rows, in, [&](std::int64_t i, Accumulator<Element> sum) {
      store(dweight[o][i], sum, op.accumulate_dweight);
    });
  }
}

}  // namespace

void CpuDevice::run(const LinearForward& op) {
  if (is_quantized(op.weight.format())) return quantized_linear(op);
  with_element(op.x.format(), [&op](auto e) { forward<decltype(e)>(op); });
}

void CpuDevice::run(const LinearBackwardInput& op) {
  with_element(op.dy.format(), [&op](auto e) { backward_input<decltype(e)>(op); });
}

void CpuDevice::run(const LinearBackwardWeight& op) {
  with_element(op.dy.format(), [&op](auto e) { backward_weight<decltype(e)>(op); });
  if (op.dbias == nullptr) return;
  require(op.partials != nullptr, "bias partials are not there");
  run(BiasBackward{op.dy, *op.dbias, op.accumulate_dbias, *op.partials});
}

void CpuDevice::run(const BiasBackward& op) {
  with_element(op.dy.format(), [&op](auto e) { backward_bias<decltype(e)>(op); });
}

}  // namespace vramfit
