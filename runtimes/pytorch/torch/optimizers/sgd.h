#pragma once

#include "runtimes/pytorch/torch/optimizers/optimizer.h"
#include "runtimes/pytorch/torch/tensor/context.h"

namespace vramfit::pytorch {

/// torch/optim/sgd.py, PyTorch 2.11: in place, but for the momentum's first copy of the gradient.
class Sgd final : public Optimizer {
 public:
  Sgd(bool momentum, std::vector<Tensor> parameters)
      : Optimizer(std::move(parameters)), momentum_(momentum) {}

  void step() override {
    if (!momentum_ || !buffers_.empty()) return;
    for (const Tensor& parameter : parameters_) {
      const LayerScope acts(parameter);
      buffers_.push_back(state_like(parameter));
    }
  }

 private:
  bool momentum_;
  std::vector<Tensor> buffers_;
};

}  // namespace vramfit::pytorch
