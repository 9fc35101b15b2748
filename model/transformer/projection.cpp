#include "model/transformer/projection.h"

#include "model/transformer/adapted.h"
#include "model/transformer/codes.h"

namespace vramfit {
namespace {

/// The bias's gradient, where there is one, apart from the weight's.
void bias_backward(Model& model, const Projection& p, const Tensor& dy) {
  if (model.weights.optional_value(p.bias, p.layer) == nullptr) return;
  OpContext& context = model.context;
  const GradientTarget dbias = model.weights.gradient(context, p.bias, p.layer);
  Tensor partials = context.scratch({"bias_partials", p.layer},
                                    bias_partials_shape(dy.shape()[0], dy.shape()[1]));
  context.device.run(BiasBackward{dy, dbias.tensor, dbias.accumulate, partials});
}

}  // namespace

bool quantizes_input(const Model& model, const Projection& p) {
  const Format format = model.weights.value(p.weight, p.layer).format();
  return is_quantized(format) && format == model.context.precisions.linear_inputs;
}

QuantizedInput::QuantizedInput(Model& model, const Projection& p, const Tensor& x)
    : x_(x), weight_scales_(model.weights.scales(p.weight, p.layer)) {
  OpContext& context = model.context;
  const Tensor& weight = model.weights.value(p.weight, p.layer);
  const Format format = weight.format();
  if (!is_quantized(format)) return;
  const std::int64_t tokens = x.shape()[0];
  const bool quantizes = quantizes_input(model, p);
  if (quantizes && tokens <= kFusedRows) {
    by_linear_ = true;
  } else if (quantizes) {
    rows_ = context.linear_input({"quantized_input", p.layer}, x.shape());
    scales_ = context.statistics({"input_scales", p.layer}, {tokens});
    context.device.run(Quantize{x, rows_, &scales_, 0});
  } else if (tokens > direct_rows(context.device.arch())) {
    const Shape& stored = weight.stored();
    const std::int64_t rows = dequantized_rows(stored[0], stored[1], x.format());
    dequantized_ = {context.ledger,
                    {"dequantized", p.layer},
                    Category::Workspace,
                    x.format(),
                    {rows, stored[1]}};
  }
}

QuantizedOperands QuantizedInput::operands() {
  return {scales_ ? &scales_ : nullptr, weight_scales_, dequantized_ ? &dequantized_ : nullptr,
          by_linear_};
}

Tensor project(Model& model, const Projection& p, const Name& name, const Tensor& x,
               const Tensor* residual, const InputNorm* norm, const CodeScales* scales) {
  OpContext& context = model.context;
  const Tensor& weight = model.weights.value(p.weight, p.layer);
  Tensor y = context.activation(name, {x.shape()[0], weight.stored()[0]});
  if (context.precisions.multiplies_codes() && scales != nullptr) {
    // Attention's output is cuDNN's; norms and activations are our own.
    const bool found = p.weight != Role::OutWeight;
    multiply_codes(model, p, x, found, residual, *scales, y);
    return y;
  }
  {
    QuantizedInput input(model, p, x);
    context.device.run(LinearForward{input.rows(), weight,
                                     model.weights.optional_value(p.bias, p.layer), residual, y,
                                     context.gemm_workspace, input.operands(), norm});
  }
  add_adapters(model, p, x, y);
  return y;
}

InputGradient project_backward_input(Model& model, const Projection& p, const Name& name,
                                     const Tensor& dy, const CodeScales& scales) {
  OpContext& context = model.context;
  const Tensor& weight = model.weights.value(p.weight, p.layer);
  const Shape& stored = weight.stored();
  Tensor dx = context.activation(name, {dy.shape()[0], stored[1]});
  if (context.precisions.multiplies_codes()) {
    const bool found = p.weight == Role::UpWeight;
    Tensor dy_codes = multiply_codes_backward(model, p, dy, found, scales, dx);
    return {std::move(dx), {Tensor(), std::move(dy_codes)}};
  }
  {
    Tensor slab;
    if (is_quantized(weight.format())) {
      const std::int64_t columns = dequantized_columns(stored[0], stored[1], dy.format());
      slab = {context.ledger,
              {"dequantized", p.layer},
              Category::Workspace,
              dy.format(),
              {stored[0], columns}};
    }
    context.device.run(LinearBackwardInput{dy, weight, dx, false, context.gemm_workspace,
                                           model.weights.scales(p.weight, p.layer),
                                           slab ? &slab : nullptr});
  }
  Tensor du = adapters_backward_input(model, p, dy, &dx);
  return {std::move(dx), {std::move(du), Tensor()}};
}

void project_backward_weight(Model& model, const Projection& p, const Tensor& x, const Tensor& dy,
                             const Passed& passed, const CodeScales& scales) {
  OpContext& context = model.context;
  if (context.precisions.multiplies_codes()) {
    multiply_codes_for_weight(model, p, x, passed.dy_codes, scales);
    bias_backward(model, p, dy);
    return;
  }
  adapters_backward_weight(model, p, x, dy, passed.du);
  if (!model.weights.trains(p.weight, p.layer)) return;
  const GradientTarget dweight = model.weights.gradient(context, p.weight, p.layer);
  if (model.weights.optional_value(p.bias, p.layer) == nullptr) {
    context.device.run(LinearBackwardWeight{x, dy, dweight.tensor, dweight.accumulate, nullptr,
                                            false, nullptr, context.gemm_workspace});
    return;
  }
  const GradientTarget dbias = model.weights.gradient(context, p.bias, p.layer);
  Tensor partials = context.scratch({"bias_partials", p.layer},
                                    bias_partials_shape(dy.shape()[0], dy.shape()[1]));
  context.device.run(LinearBackwardWeight{x, dy, dweight.tensor, dweight.accumulate, &dbias.tensor,
                                          dbias.accumulate, &partials, context.gemm_workspace});
}

}  // namespace vramfit
