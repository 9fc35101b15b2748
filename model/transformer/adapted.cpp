#include "model/transformer/adapted.h"

namespace vramfit {
namespace {

/// u = x Aᵀ. It is small: backward computes it again.
Tensor first_half(Model& model, Role a, int layer, const Tensor& x) {
  OpContext& context = model.context;
  const Tensor& weight = model.weights.value(a, layer);
  Tensor u = context.activation({"lora_u", layer}, {x.shape()[0], weight.shape()[0]});
  context.device.run(LinearForward{x, weight, nullptr, nullptr, u, context.gemm_workspace});
  return u;
}

}  // namespace

void add_adapters(Model& model, const Projection& p, const Tensor& x, Tensor& y) {
  const ProjectionAdapters* adapters = model.adapters.beside(p.weight);
  if (adapters == nullptr) return;
  OpContext& context = model.context;
  const Tensor u = first_half(model, adapters->roles.a, p.layer, x);
  context.device.run(LoraForward{adapters->columns, u,
                                 model.weights.value(adapters->roles.b, p.layer), y,
                                 context.gemm_workspace});
}

Tensor adapters_backward_input(Model& model, const Projection& p, const Tensor& dy, Tensor* dx) {
  const ProjectionAdapters* adapters = model.adapters.beside(p.weight);
  if (adapters == nullptr) return {};
  OpContext& context = model.context;
  const Tensor& a = model.weights.value(adapters->roles.a, p.layer);
  Tensor du = context.activation({"lora_du", p.layer}, {dy.shape()[0], a.shape()[0]});
  context.device.run(LoraBackwardInput{adapters->columns, dy,
                                       model.weights.value(adapters->roles.b, p.layer), du,
                                       context.gemm_workspace});
  if (dx != nullptr) {
    context.device.run(LinearBackwardInput{du, a, *dx, true, context.gemm_workspace});
  }
  return du;
}

void adapters_backward_weight(Model& model, const Projection& p, const Tensor& x, const Tensor& dy,
                              const Tensor& du) {
  const ProjectionAdapters* adapters = model.adapters.beside(p.weight);
  if (adapters == nullptr) return;
  OpContext& context = model.context;
  const GradientTarget da = model.weights.gradient(context, adapters->roles.a, p.layer);
  const GradientTarget db = model.weights.gradient(context, adapters->roles.b, p.layer);
  const Tensor u = first_half(model, adapters->roles.a, p.layer, x);
  context.device.run(LoraBackwardWeight{adapters->columns, u, dy, db.tensor, db.accumulate,
                                        context.gemm_workspace});
  context.device.run(LinearBackwardWeight{x, du, da.tensor, da.accumulate, nullptr, false, nullptr,
                                          context.gemm_workspace});
}

}  // namespace vramfit
