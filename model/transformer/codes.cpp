#include "model/transformer/codes.h"

namespace vramfit {
namespace {

std::int64_t number_of(Role weight) {
  switch (weight) {
    case Role::QkvWeight:
      return 0;
    case Role::OutWeight:
      return 1;
    case Role::UpWeight:
      return 2;
    default:
      return 3;
  }
}

Tensor codes_of(OpContext& context, const Name& name, Category category, Format format,
                const Shape& shape) {
  return {context.ledger, name, category, format, shape};
}

Shape turned(const Shape& shape) { return {shape[1], shape[0]}; }

}  // namespace

CodeScales::CodeScales(OpContext& context, int layer) {
  values_ = {context.ledger,
             {"code_scales", layer},
             Category::Activations,
             DType::Fp32,
             {kKept + 1, CodeScale::kValues}};
  context.device.run(FillNormal{values_, 0.0F, 0.0F, 0});
}

Tensor CodeScales::of(Role weight, Operand operand) const {
  return at(number_of(weight) * kOperands + static_cast<std::int64_t>(operand));
}

Tensor CodeScales::at(std::int64_t number) const {
  const Shape shape = {CodeScale::kValues};
  const std::uint64_t bytes = Format(DType::Fp32).bytes(CodeScale::kValues);
  return Tensor::view(values_, static_cast<std::uint64_t>(number) * bytes, values_.name(),
                      values_.category(), DType::Fp32, shape, shape);
}

Tensor kept_codes(OpContext& context, int layer, const Tensor& pre, const CodeScales& scales) {
  Tensor codes = codes_of(context, {"pre_codes", layer}, Category::Activations,
                          context.precisions.products, pre.shape());
  Tensor scale = scales.of_kept();
  context.device.run(EncodeTensor{pre, scale, &codes, nullptr});
  return codes;
}

void multiply_codes(Model& model, const Projection& p, const Tensor& x, bool found,
                    const Tensor* residual, const CodeScales& scales, Tensor& y) {
  OpContext& context = model.context;
  const Format format = context.precisions.products;
  const Tensor& weight = model.weights.value(p.weight, p.layer);
  Tensor x_scale = scales.of(p.weight, Operand::Input);
  Tensor weight_scale = scales.of(p.weight, Operand::Weight);
  Tensor x_codes =
      codes_of(context, {"input_codes", p.layer}, Category::Activations, format, x.shape());
  if (!found) context.device.run(FindLargest{x, x_scale});
  context.device.run(EncodeTensor{x, x_scale, &x_codes, nullptr});
  Tensor weight_codes =
      codes_of(context, {"weight_codes", p.layer}, Category::Workspace, format, weight.stored());
  context.device.run(FindLargest{weight, weight_scale});
  context.device.run(EncodeTensor{weight, weight_scale, &weight_codes, nullptr});
  context.device.run(CodesProduct{LinearPass::Forward, weight, x_codes, x_scale, weight_codes,
                                  weight_scale, model.weights.optional_value(p.bias, p.layer),
                                  residual, y, false, context.gemm_workspace});
}

Tensor multiply_codes_backward(Model& model, const Projection& p, const Tensor& dy, bool found,
                               const CodeScales& scales, Tensor& dx) {
  OpContext& context = model.context;
  const Format format = context.precisions.products;
  const Tensor& weight = model.weights.value(p.weight, p.layer);
  Tensor dy_scale = scales.of(p.weight, Operand::OutputGradient);
  Tensor weight_scale = scales.of(p.weight, Operand::Weight);
  Tensor transposed = codes_of(context, {"gradient_codes_transposed", p.layer},
                               Category::Activations, format, turned(dy.shape()));
  Tensor codes =
      codes_of(context, {"gradient_codes", p.layer}, Category::Activations, format, dy.shape());
  if (!found) context.device.run(FindLargest{dy, dy_scale});
  context.device.run(EncodeTensor{dy, dy_scale, &codes, &transposed});
  Tensor weight_codes = codes_of(context, {"weight_codes", p.layer}, Category::Workspace, format,
                                 turned(weight.stored()));
  context.device.run(EncodeTensor{weight, weight_scale, nullptr, &weight_codes});
  context.device.run(CodesProduct{LinearPass::BackwardInput, weight, codes, dy_scale, weight_codes,
                                  weight_scale, nullptr, nullptr, dx, false,
                                  context.gemm_workspace});
  return transposed;
}

void multiply_codes_for_weight(Model& model, const Projection& p, const Tensor& x,
                               const Tensor& dy_codes, const CodeScales& scales) {
  OpContext& context = model.context;
  Tensor x_scale = scales.of(p.weight, Operand::Input);
  const Tensor dy_scale = scales.of(p.weight, Operand::OutputGradient);
  Tensor x_codes = codes_of(context, {"input_codes", p.layer}, Category::Activations,
                            context.precisions.products, turned(x.shape()));
  context.device.run(EncodeTensor{x, x_scale, nullptr, &x_codes});
  const GradientTarget dweight = model.weights.gradient(context, p.weight, p.layer);
  context.device.run(CodesProduct{LinearPass::BackwardWeight,
                                  model.weights.value(p.weight, p.layer), dy_codes, dy_scale,
                                  x_codes, x_scale, nullptr, nullptr, dweight.tensor,
                                  dweight.accumulate, context.gemm_workspace});
}

}  // namespace vramfit
