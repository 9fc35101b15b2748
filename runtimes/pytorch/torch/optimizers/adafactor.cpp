#include "runtimes/pytorch/torch/optimizers/adafactor.h"

#include "runtimes/pytorch/torch/ops/linear.h"
#include "runtimes/pytorch/torch/ops/reduction.h"
#include "runtimes/pytorch/torch/tensor/context.h"

namespace vramfit::pytorch {
namespace {

Tensor state_of(const Tensor& parameter, const Dims& sizes) {
  return empty(parameter.context(), sizes, parameter.type(), Category::OptimizerState);
}

Tensor temporary(const Tensor& like) {
  return empty(like.context(), like.sizes(), like.type(), Category::Workspace);
}

}  // namespace

void Adafactor::init_group() {
  if (!states_.empty()) return;
  for (const Tensor& parameter : parameters_) {
    const LayerScope acts(parameter);
    State& state = states_.emplace_back();
    if (parameter.rank() == 1) {
      state.variance = state_like(parameter);
      continue;
    }
    state.row_var = state_of(parameter, parameter.sizes().with(-1, 1));
    state.col_var = state_of(parameter, parameter.sizes().with(-2, 1));
  }
}

// _single_tensor_adafactor. Its local variables live from one parameter into the next, until they
// are assigned to.
void Adafactor::step() {
  init_group();
  Tensor row_mean;
  Tensor col_mean;
  Tensor grad_squared;
  Tensor update;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& parameter = parameters_[i];
    const State& state = states_[i];
    const LayerScope acts(parameter);
    reduce_all(parameter);  // param.norm(2)
    Tensor var_estimate;
    if (parameter.rank() > 1) {
      // The gradient has the parameter's sizes and type.
      row_mean = reduce_dim(parameter, -1);
      col_mean = reduce_dim(parameter, -2);
      var_estimate = matmul(state.row_var, state.col_var);
      reduce_dim(state.row_var, -2);
    } else {
      grad_squared = temporary(parameter);
      var_estimate = temporary(parameter);  // variance.clone()
    }
    update = std::move(var_estimate);
    reduce_all(update);
  }
}

}  // namespace vramfit::pytorch
