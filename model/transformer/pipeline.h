#pragma once

#include "model/ops/collective_ops.h"
#include "model/transformer/model.h"

namespace vramfit {

/// What the stages of a pipeline tell each other in a step. On a mesh without stages it does
/// nothing.
class Pipeline {
 public:
  /// `model`, which is a stage of the same mesh, must outlive it.
  Pipeline(Model& model, const Mesh& mesh) : model_(model), mesh_(mesh) {}

  /// What the pass `before` made, rows of x forward and of their gradients backward, goes to the
  /// stage that goes on with it, and what the pass `after` starts with comes, at once. Null: there
  /// is no such pass. Returns what `after` starts with; `made` itself where that is the same
  /// stage's.
  Tensor exchange(const Pass* before, Tensor made, const Pass* after, const Shape& rows);

  /// Behind a step's last pass, which made that: gradients of what two stages have are sums for the
  /// ops that follow, and all ranks know the loss.
  void end(const Pass& last, Tensor made, const Tensor& loss);

 private:
  void sum_tied_head();

  Model& model_;
  const Mesh mesh_;
};

}  // namespace vramfit
