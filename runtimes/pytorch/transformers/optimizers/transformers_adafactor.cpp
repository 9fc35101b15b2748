#include "runtimes/pytorch/transformers/optimizers/transformers_adafactor.h"

#include "runtimes/pytorch/torch/ops/reduction.h"
#include "runtimes/pytorch/torch/tensor/context.h"

namespace vramfit::pytorch {
namespace {

Tensor fp32(Context& context, const Dims& sizes, Category category = Category::Workspace) {
  return empty(context, sizes, ScalarType::Float, category);
}

Tensor fp32_like(const Tensor& tensor) { return fp32(tensor.context(), tensor.sizes()); }

/// tensor.norm(2) / (tensor.numel() ** 0.5)
Tensor rms(Context& context, Category category = Category::Workspace) {
  const Tensor norm = fp32(context, {});
  return fp32(context, {}, category);
}

Dims without(const Tensor& tensor, int dim) {
  return reduced_sizes(tensor.sizes(), bit(tensor.rank() + dim), false);
}

/// _approx_sq_grad
Tensor approx_sq_grad(const Tensor& row, const Tensor& col, const Dims& sizes) {
  Tensor mean = fp32(row.context(), row.sizes().with(-1, 1));
  const Tensor r_factor = fp32_like(row);
  mean.reset();
  const Tensor c_factor = fp32_like(col);
  return fp32(row.context(), sizes);
}

}  // namespace

void TransformersAdafactor::init_state(const Tensor& parameter, State& state) const {
  Context& context = parameter.context();
  if (parameter.rank() == 1) {
    state.exp_avg_sq = state_like(parameter, ScalarType::Float);
    return;
  }
  state.exp_avg_sq_row = fp32(context, without(parameter, -1), Category::OptimizerState);
  state.exp_avg_sq_col = fp32(context, without(parameter, -2), Category::OptimizerState);
}

// Local variables live from one parameter into the next, until they are assigned to.
void TransformersAdafactor::step() {
  const bool first = states_.empty();
  states_.resize(parameters_.size());
  Tensor grad;
  Tensor p_data_fp32;
  Tensor update;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& parameter = parameters_[i];
    State& state = states_[i];
    Context& context = parameter.context();
    const LayerScope acts(parameter);
    const bool half = is_half(parameter.type());
    grad.reset();
    if (half) grad = fp32_like(parameter);  // .float()
    if (first) init_state(parameter, state);
    p_data_fp32.reset();
    if (half) p_data_fp32 = fp32_like(parameter);
    state.rms = rms(context, Category::OptimizerState);
    {
      const Tensor squared = fp32_like(parameter);
      update = fp32_like(parameter);  // grad**2 + eps
    }
    if (parameter.rank() > 1) {
      reduce_dim(update, -1);
      reduce_dim(update, -2);
      update = approx_sq_grad(state.exp_avg_sq_row, state.exp_avg_sq_col, parameter.sizes());
    } else {
      update = fp32_like(parameter);  // exp_avg_sq.rsqrt()
    }
    {
      const Tensor size = rms(context);
      const Tensor clipped = fp32(context, {});
    }
    const Tensor negated = fp32_like(parameter);  // -update
  }
}

}  // namespace vramfit::pytorch
