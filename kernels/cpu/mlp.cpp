#include <cmath>

#include "kernels/cpu/code_products.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/matrix.h"

namespace vramfit {
namespace {

/// An activation's value and slope at one point.
template <typename Sum>
struct Curve {
  Sum value;
  Sum slope;
};

/// x · sigmoid(x).
template <typename Sum>
Curve<Sum> silu(Sum x) {
  const Sum sigmoid = 1 / (1 + std::exp(-x));
  return {x * sigmoid, sigmoid * (1 + x * (1 - sigmoid))};
}

/// GELU's tanh approximation (Hendrycks and Gimpel 2016).
template <typename Sum>
Curve<Sum> gelu(Sum x) {
  constexpr auto kRoot = static_cast<Sum>(0.7978845608028654);  // sqrt(2/π)
  constexpr auto kCubic = static_cast<Sum>(0.044715);
  const Sum half = static_cast<Sum>(0.5);
  const Sum tanh = std::tanh(kRoot * (x + kCubic * x * x * x));
  const Sum inner_slope = kRoot * (1 + 3 * kCubic * x * x);
  return {half * x * (1 + tanh), half * (1 + tanh) + half * x * (1 - tanh * tanh) * inner_slope};
}

template <typename Element>
Element activated(ActivationKind kind, const Element* pre, std::int64_t ffn, std::int64_t j) {
  using Sum = Accumulator<Element>;
  if (kind == ActivationKind::Gelu) return static_cast<Element>(gelu<Sum>(pre[j]).value);
  return static_cast<Element>(silu<Sum>(pre[j]).value * static_cast<Sum>(pre[ffn + j]));
}

/// Replaces column j of `pre` (SwiGLU: of gate and up) by its gradient, from the activation's.
template <typename Element, typename Sum = Accumulator<Element>>
void differentiate(ActivationKind kind, Element* pre, std::int64_t ffn, std::int64_t j, Sum dact) {
  if (kind == ActivationKind::Gelu) {
    pre[j] = static_cast<Element>(dact * gelu<Sum>(pre[j]).slope);
    return;
  }
  const Curve<Sum> gate = silu<Sum>(pre[j]);
  const Sum up = pre[ffn + j];
  pre[j] = static_cast<Element>(dact * up * gate.slope);
  pre[ffn + j] = static_cast<Element>(dact * gate.value);
}

std::int64_t up_width(ActivationKind kind, std::int64_t ffn) {
  return kind == ActivationKind::SwiGlu ? 2 * ffn : ffn;
}

template <typename Element>
void activate(const Activate& op) {
  const std::int64_t rows = op.act.shape()[0];
  const std::int64_t ffn = op.act.shape()[1];
  const auto pre = input<Element>(op.pre, rows, up_width(op.kind, ffn));
  const auto act = output<Element>(op.act, rows, ffn);
  for (std::int64_t n = 0; n < rows; ++n) {
    for (std::int64_t j = 0; j < ffn; ++j) act[n][j] = activated(op.kind, pre[n], ffn, j);
  }
}

template <typename Element>
void backward(const ActivateBackward& op) {
  const std::int64_t rows = op.act.shape()[0];
  const std::int64_t ffn = op.act.shape()[1];
  const auto pre = output<Element>(op.pre, rows, up_width(op.kind, ffn));
  const auto act = output<Element>(op.act, rows, ffn);
  for (std::int64_t n = 0; n < rows; ++n) {
    for (std::int64_t j = 0; j < ffn; ++j) {
      const auto dact = static_cast<Accumulator<Element>>(act[n][j]);
      act[n][j] = activated(op.kind, pre[n], ffn, j);
      differentiate(op.kind, pre[n], ffn, j, dact);
    }
  }
}

}  // namespace

void CpuDevice::run(const MlpUpForward& op) {
  run(LinearForward{op.x, op.weight, op.bias, nullptr, op.pre, op.workspace, op.quantized,
                    op.norm});
  run(Activate{op.kind, op.pre, op.act});
}

void CpuDevice::run(const Activate& op) {
  with_element(op.act.format(), [&op](auto e) { activate<decltype(e)>(op); });
  if (op.largest != nullptr) find_largest(op.act, *op.largest);
  if (op.pre_largest != nullptr) find_largest(op.pre, *op.pre_largest);
}

void CpuDevice::run(const ActivateBackward& op) {
  if (op.codes != nullptr) decode(*op.codes, *op.codes_scale, op.pre);
  with_element(op.act.format(), [&op](auto e) { backward<decltype(e)>(op); });
  if (op.largest != nullptr) find_largest(op.pre, *op.largest);
}

}  // namespace vramfit
