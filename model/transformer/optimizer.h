#pragma once

#include <vector>

#include "model/transformer/weights.h"

namespace vramfit {

/// Keeps an optimizer's states, which are born at its first step, and takes the steps.
class Optimizer {
 public:
  Optimizer(const OptimizerKind& kind, const OptimizerSettings& settings)
      : kind_(kind), settings_(settings) {}

  /// Updates every trained parameter from its gradient, of those that ranks cut this rank's part.
  /// `scaler`: fp16's loss scale or null. `step` counts from 1.
  void step(OpContext& context, const Weights& weights, const Mesh& mesh, const Tensor* scaler,
            int step);

 private:
  struct State {
    Tensor master;
    Tensor momentum;
    Tensor variance;
    Tensor scales;
  };
  /// In the host's memory, ahead of the states. Throws BadInput where it has no room for all.
  void create_slots(OpContext& context, const std::vector<const Parameter*>& trained);
  State state_of(OpContext& context, const Parameter& parameter) const;

  const OptimizerKind kind_;
  const OptimizerSettings settings_;
  Tensor slots_;               ///< from the first step on, where the host takes the updates
  std::vector<State> states_;  ///< one a trained parameter, from the first step on
};

}  // namespace vramfit
