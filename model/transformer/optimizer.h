#pragma once

#include <vector>

#include "model/transformer/weights.h"

namespace vramfit {

/// Keeps an optimizer's states, which are born at its first step, and takes the steps.
class Optimizer {
 public:
  Optimizer(const OptimizerKind& kind, const OptimizerSettings& settings)
      : kind_(kind), settings_(settings) {}

  /// States of every trained parameter are born, at the first call.
  void create_states(OpContext& context, const Weights& weights);
  /// Those that were born, in the order of their parameters.
  std::vector<const Tensor*> states() const;
  /// Of the steps from here on.
  void set_learning_rate(float rate) { settings_.learning_rate = rate; }
  /// Updates parameters, by their numbers in Weights::all, from their gradients; of those that
  /// ranks cut this rank's part. `scaler`: fp16's loss scale or null, and where there is one, the
  /// parameters are all that are trained. `step` counts from 1.
  void step(OpContext& context, const Weights& weights, const std::vector<std::size_t>& parameters,
            const Mesh& mesh, const Tensor* scaler, int step);

 private:
  struct State {
    Tensor master;
    Tensor momentum;
    Tensor variance;
    Tensor scales;
  };
  /// In the host's memory, ahead of the states. Throws BadInput where it has no room for all.
  void create_slots(OpContext& context, const Weights& weights);
  State state_of(OpContext& context, const Parameter& parameter) const;

  const OptimizerKind kind_;
  OptimizerSettings settings_;
  Tensor slots_;               ///< from the first step on, where the host takes the updates
  std::vector<State> states_;  ///< from the first step on, by the parameter's number
};

}  // namespace vramfit
