#pragma once

#include <vector>

#include "tests/kernels/support/workbench.h"

namespace vramfit {

/// One parameter, its gradient and the states that an optimizer keeps of it, on a workbench.
class UpdateCase {
 public:
  /// A vector, or a matrix of `rows` rows.
  UpdateCase(const OptimizerKind& kind, DType dtype, const std::vector<double>& start,
             const OptimizerSettings& settings, bool decays = true, std::int64_t rows = 0);

  /// One step with the given gradient; its number counts on from the last one's.
  void step(const std::vector<double>& gradient);

  /// From now on gradients are of a loss that is scaled.
  void use_scaler(float scale, float good_steps);
  std::vector<double> scaler_values() const { return values_of(scaler_); }

  Workbench bench;
  OptimizerKind kind;
  Tensor parameter;
  Tensor master;    ///< holds nothing where the optimizer does not keep it
  Tensor momentum;  ///< likewise
  Tensor variance;  ///< likewise
  Tensor scales;    ///< likewise

 private:
  OptimizerSettings settings_;
  bool decays_;
  Tensor gradient_;
  Tensor scaler_;
  int step_ = 0;
};

}  // namespace vramfit
