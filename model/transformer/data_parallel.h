#pragma once

#include <optional>
#include <vector>

#include "model/transformer/gradient_slots.h"
#include "model/transformer/model.h"
#include "model/transformer/parameter_slots.h"

namespace vramfit {

/// Parameters that are updated together, by their numbers in Weights::all.
struct UpdatePart {
  std::vector<std::size_t> parameters;
  bool of_start;  ///< those that forward starts with, and backward ended with, are among them
};

/// What ranks that each train on batches of their own tell each other in a step, as their strategy
/// has it. The training step calls it at each unit's start and end; without such
/// ranks it does nothing. Sums over ranks overlap the rest of backward, gathered parameters the
/// unit before.
class DataParallel {
 public:
  /// `model`, which is cut for the same mesh, must outlive it.
  DataParallel(Model& model, const Mesh& mesh);
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  const Units& units() const { return units_; }

  /// The ops that follow are this unit's, one of units().
  void forward_enters(int unit);

  /// Likewise in backward, which starts with the head where forward ended; and what it has passed.
  void backward_enters_head();
  void backward_leaves_head(bool last_micro_batch);
  void backward_enters_block(int layer);
  void backward_passes_mlp(int layer, bool last_micro_batch);
  void backward_leaves_block(int layer, bool last_micro_batch);
  void backward_enters_embeddings();
  void backward_ends(bool last_micro_batch, const Tensor& loss);

  /// What is trained, in the order of its update. What backward ended with comes last, and is
  /// summed during the rest; but first where parameters are gathered: forward starts with it.
  /// `at_once`: nothing may be updated before all sums are there.
  std::vector<UpdatePart> update_parts(bool at_once) const;
  /// Gradients of the part are sums over the ranks for the ops that follow; with the last, the
  /// loss.
  void update_enters(const UpdatePart& part);
  /// Its parameters are updated, of each this rank's own part.
  void update_leaves(const UpdatePart& part);
  /// All are.
  void parameters_updated();

 private:
  Tensor whole_gradient(Parameter& parameter);
  /// Backward has passed one of parts_.
  void pass(int part, bool last_micro_batch);
  void reduce_all(int part);
  void scatter_sums(int part);

  Model& model_;
  const Mesh mesh_;
  const Units units_;  ///< what parameters are gathered by
  const Units parts_;  ///< and gradients are summed by: less at a time, as they are larger
  std::optional<ParameterSlots> parameters_;  ///< where parameters are cut
  std::optional<GradientSlots> gradients_;    ///< where gradients are
  Ticket sums_;                               ///< of all gradients and the loss
  Ticket earlier_sums_;                       ///< of all but those that backward ends with
  std::vector<Ticket> updated_;  ///< of each unit, where parameters are whole and states cut
};

}  // namespace vramfit
