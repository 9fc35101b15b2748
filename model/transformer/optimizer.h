#pragma once

#include <vector>

#include "model/transformer/weights.h"

namespace vramfit {

/// Keeps an optimizer's states, which are born at its first step, and takes the steps.
class Optimizer {
 public:
  Optimizer(const OptimizerKind& kind, const OptimizerSettings& settings)
      : kind_(kind), settings_(settings) {}

  /// Updates every trained parameter from its gradient. `step` counts from 1.
  void step(OpContext& context, const Weights& weights, const Tensor* scaler, int step);

 private:
  struct State {
    Tensor master;
    Tensor momentum;
    Tensor variance;
    Tensor scales;
  };
  void create_states(OpContext& context, const Weights& weights);

  const OptimizerKind kind_;
  const OptimizerSettings settings_;
  std::vector<State> states_;  ///< one a trained parameter, from the first step on
};

}  // namespace vramfit
