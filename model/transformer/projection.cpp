#include "model/transformer/projection.h"

namespace vramfit {

Tensor project(Model& model, const Projection& p, const Name& name, const Tensor& x,
               const Tensor* residual) {
  Runtime& rt = model.runtime;
  const Tensor& weight = model.weights.value(p.weight, p.layer);
  Tensor y = rt.activation(name, {x.shape()[0], weight.stored()[0]});
  rt.device.run(LinearForward{x, weight, model.weights.optional_value(p.bias, p.layer), residual, y,
                              rt.gemm_workspace});
  return y;
}

Tensor project_backward_input(Model& model, const Projection& p, const Name& name,
                              const Tensor& dy) {
  Runtime& rt = model.runtime;
  const Tensor& weight = model.weights.value(p.weight, p.layer);
  Tensor dx = rt.activation(name, {dy.shape()[0], weight.shape()[1]});
  rt.device.run(LinearBackwardInput{dy, weight, dx, rt.gemm_workspace});
  return dx;
}

void project_backward_weight(Model& model, const Projection& p, const Tensor& x, const Tensor& dy) {
  Runtime& rt = model.runtime;
  const GradientTarget dweight = model.weights.gradient(rt, p.weight, p.layer);
  if (model.weights.optional_value(p.bias, p.layer) == nullptr) {
    rt.device.run(LinearBackwardWeight{x, dy, dweight.tensor, dweight.accumulate, nullptr, false,
                                       nullptr, rt.gemm_workspace});
    return;
  }
  const GradientTarget dbias = model.weights.gradient(rt, p.bias, p.layer);
  Tensor partials =
      rt.scratch({"bias_partials", p.layer}, bias_partials_shape(dy.shape()[0], dy.shape()[1]));
  rt.device.run(LinearBackwardWeight{x, dy, dweight.tensor, dweight.accumulate, &dbias.tensor,
                                     dbias.accumulate, &partials, rt.gemm_workspace});
}

}  // namespace vramfit
