#pragma once

#include "runtimes/pytorch/torch/optimizers/optimizer.h"

namespace vramfit::pytorch {

/// transformers/optimization.py (Adafactor), 5.17, as its Trainer makes it: without a first moment,
/// relative steps or scaling by the parameter (trainer_optimizer.py, _get_adafactor).
class TransformersAdafactor final : public Optimizer {
 public:
  explicit TransformersAdafactor(std::vector<Tensor> parameters)
      : Optimizer(std::move(parameters)) {}
  void step() override;
  bool keeps_its_states() const override { return false; }  ///< rms is another tensor each time

 private:
  /// In fp32: two factors of a matrix's second moment, or a vector's whole.
  struct State {
    Tensor exp_avg_sq_row, exp_avg_sq_col;
    Tensor exp_avg_sq;
    Tensor rms;
  };
  void init_state(const Tensor& parameter, State& state) const;
  std::vector<State> states_;
};

}  // namespace vramfit::pytorch
