#pragma once

#include "runtimes/pytorch/torch/optimizers/optimizer.h"

namespace vramfit::pytorch {

/// torch/optim/_adafactor.py, PyTorch 2.11, in the loop that is its default (foreach=None).
class Adafactor final : public Optimizer {
 public:
  explicit Adafactor(std::vector<Tensor> parameters) : Optimizer(std::move(parameters)) {}
  void step() override;

 private:
  /// In the parameter's type: two factors of the variance of each of its matrices, or a vector's
  /// whole.
  struct State {
    Tensor row_var, col_var;
    Tensor variance;
  };
  void init_group();
  std::vector<State> states_;
};

}  // namespace vramfit::pytorch
