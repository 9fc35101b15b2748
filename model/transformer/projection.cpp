#include "model/transformer/projection.h"

namespace vramfit {

Tensor project(Model& model, const Projection& p, const Name& name, const Tensor& x,
               const Tensor* residual) {
  OpContext& context = model.context;
  const Tensor& weight = model.weights.value(p.weight, p.layer);
  Tensor y = context.activation(name, {x.shape()[0], weight.stored()[0]});
  context.device.run(LinearForward{x, weight, model.weights.optional_value(p.bias, p.layer),
                                   residual, y, context.gemm_workspace});
  return y;
}

Tensor project_backward_input(Model& model, const Projection& p, const Name& name,
                              const Tensor& dy) {
  OpContext& context = model.context;
  const Tensor& weight = model.weights.value(p.weight, p.layer);
  Tensor dx = context.activation(name, {dy.shape()[0], weight.shape()[1]});
  context.device.run(LinearBackwardInput{dy, weight, dx, context.gemm_workspace});
  return dx;
}

void project_backward_weight(Model& model, const Projection& p, const Tensor& x, const Tensor& dy) {
  OpContext& context = model.context;
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
