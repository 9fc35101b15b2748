#pragma once

#include "runtimes/pytorch/torch/optimizers/optimizer.h"

namespace vramfit::pytorch {

/// torch/optim/adam.py with decoupled weight decay, PyTorch 2.11.
class AdamW final : public Optimizer {
 public:
  /// How its step runs: foreach is the default on a GPU.
  enum class Form : std::uint8_t { Foreach, Fused, Loop };
  AdamW(Form form, std::vector<Tensor> parameters)
      : Optimizer(std::move(parameters)), form_(form) {}
  void step() override;

 private:
  struct State {
    Tensor step;  ///< on the GPU in the fused form only
    Tensor exp_avg;
    Tensor exp_avg_sq;
  };
  void init_group();
  Form form_;
  std::vector<State> states_;
};

}  // namespace vramfit::pytorch
