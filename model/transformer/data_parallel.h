#pragma once

#include <optional>
#include <vector>

#include "model/transformer/gradient_slots.h"
#include "model/transformer/model.h"
#include "model/transformer/parameter_slots.h"

namespace vramfit {

/// What ranks that each train on batches of their own tell each other in a step, as their strategy
/// has it. The training step calls it at each unit's start and end; on a mesh of one it does
/// nothing. Sums over ranks overlap the rest of backward, gathered parameters the unit before.
class DataParallel {
 public:
  /// `model`, which is cut for the same mesh, must outlive it.
  DataParallel(Model& model, const Mesh& mesh);
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  const Units& units() const { return units_; }

  /// The ops that follow are a unit's, of the forward pass or of backward. The head's forward
  /// serves its backward as well.
  void forward_enters(int unit);
  void backward_enters(int unit);
  /// Backward has passed the unit.
  void backward_leaves(int unit, bool last_micro_batch);
  /// And all units.
  void backward_ends(bool last_micro_batch, const Tensor& loss);
  /// Gradients, and the loss, are sums over the ranks for the ops that follow.
  void await_sums();
  /// Parameters are updated, each rank's own part.
  void parameters_updated();

 private:
  Tensor whole_gradient(Parameter& parameter);
  void reduce_all(int unit);
  void scatter_sums(int unit);

  Model& model_;
  const Mesh mesh_;
  const Units units_;
  std::optional<ParameterSlots> parameters_;  ///< where parameters are cut
  std::optional<GradientSlots> gradients_;    ///< where gradients are
  Ticket sums_;
  std::vector<Ticket> updated_;  ///< of each unit, where parameters are whole and states cut
};

}  // namespace vramfit
