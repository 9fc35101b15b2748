#include "runtimes/pytorch/torch/optimizers/adamw.h"

#include <utility>

#include "runtimes/pytorch/torch/tensor/context.h"

namespace vramfit::pytorch {
namespace {

Tensor strided_temporary(const Tensor& parameter) {
  return empty_strided(parameter.context(), parameter.sizes(), parameter.strides(),
                       parameter.type(), Category::Workspace);
}

/// _multi_tensor_adam: _foreach_sqrt(exp_avg_sqs), all of them at once; the rest is in place.
void foreach_step(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> exp_avg_sq_sqrt;
  exp_avg_sq_sqrt.reserve(parameters.size());
  for (const Tensor& parameter : parameters) {
    const LayerScope acts(parameter);
    exp_avg_sq_sqrt.push_back(strided_temporary(parameter));
  }
}

/// _single_tensor_adam: denom = (exp_avg_sq.sqrt() / bias_correction2_sqrt).add_(eps), kept until
/// the next parameter's takes its place.
void loop_step(const std::vector<Tensor>& parameters) {
  Tensor denom;
  for (const Tensor& parameter : parameters) {
    const LayerScope acts(parameter);
    Tensor root = strided_temporary(parameter);
    Tensor quotient = strided_temporary(parameter);
    root.reset();
    denom = std::move(quotient);
  }
}

}  // namespace

void AdamW::init_group() {
  if (!states_.empty()) return;
  states_.resize(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const LayerScope acts(parameters_[i]);
    State& state = states_[i];
    if (form_ == Form::Fused) {
      state.step = empty(parameters_[i].context(), {}, ScalarType::Float, Category::OptimizerState);
    }
    state.exp_avg = state_like(parameters_[i]);
    state.exp_avg_sq = state_like(parameters_[i]);
  }
}

void AdamW::step() {
  init_group();
  if (form_ == Form::Foreach) foreach_step(parameters_);
  if (form_ == Form::Loop) loop_step(parameters_);
}

}  // namespace vramfit::pytorch
