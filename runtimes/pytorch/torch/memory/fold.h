#pragma once

#include <cstdint>
#include <vector>

#include "model/config/model_config.h"
#include "runtimes/pytorch/torch/memory/tape.h"

namespace vramfit::pytorch {

/// Layers one after another.
struct Layers {
  std::int64_t first;
  std::int64_t end;  ///< behind them
};

/// After how many of these layers their kinds repeat.
std::int64_t period_of(const ModelConfig& config, const Layers& layers);

/// Layers of one kind do the same, so that a model with few of them is walked, and those in its
/// middle are played again for those left out.
class Fold {
 public:
  /// Where kinds of layers alternate, whole periods are left out.
  static Fold of(const ModelConfig& config);
  /// Of no other layers than these, of which so many at either end are not like the others, nor is
  /// one in so many.
  static Fold of(const ModelConfig& config, const Layers& layers, std::int64_t edge = 2,
                 std::int64_t one_in = 1);
  static Fold none(const ModelConfig& config);

  std::int64_t layers() const { return layers_; }
  bool folds() const { return left_out_ > 0; }
  /// The model that is walked.
  ModelConfig walked(const ModelConfig& config) const;
  /// The first layer that is not played again: those left out lie before it.
  std::int64_t behind() const { return first_ + period_; }
  std::int64_t left_out() const { return left_out_; }
  /// Of the whole model the layer that one of the walked model is.
  std::int64_t played(std::int64_t layer) const {
    return layer + (layer < behind() ? 0 : left_out_);
  }
  /// Of the walked model the layer that one of the whole model is played from.
  std::int64_t played_from(std::int64_t layer) const;

  /// A visit of the whole model.
  struct Unfolded {
    const Visit* visit;
    std::int64_t layer;
  };
  /// All of the whole model's, in order.
  std::vector<Unfolded> unfold(const Recording& recording) const;
  /// Whether layers that are played again did what the period behind them did, which is to show
  /// that those left out would too.
  bool holds_for(const Recording& recording) const;

 private:
  Fold(std::int64_t layers, std::int64_t first, std::int64_t period, std::int64_t left_out)
      : layers_(layers), first_(first), period_(period), left_out_(left_out) {}

  std::int64_t layers_;
  std::int64_t first_;     ///< of those that are played again
  std::int64_t period_;    ///< layers until kinds repeat
  std::int64_t left_out_;  ///< layers, whole periods
};

}  // namespace vramfit::pytorch
