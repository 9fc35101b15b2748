#include "runtimes/pytorch/torch/optimizers/optimizer.h"

namespace vramfit::pytorch {

void Optimizer::zero_grad() {
  for (const Tensor& parameter : parameters_) parameter.impl()->grad.reset();
}

Tensor Optimizer::state_like(const Tensor& parameter, ScalarType type) const {
  return empty_strided(parameter.context(), parameter.sizes(), parameter.strides(), type,
                       Category::OptimizerState);
}

}  // namespace vramfit::pytorch
