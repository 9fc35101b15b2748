#pragma once

#include <cstdint>
#include <vector>

#include "runtimes/pytorch/torch/memory/fold.h"
#include "runtimes/pytorch/transformers/modules/quantized_weight.h"

namespace vramfit::pytorch {

/// What is chance about how many columns hold outliers in the linears of a model: the same in every
/// run, and of every layer the same whether it is walked or played from another.
class OutlierDraws {
 public:
  /// `linears`: of each layer that is walked, those that are quantised here.
  OutlierDraws(const Fold& fold, const std::vector<std::int64_t>& linears);

  /// Of the layer's next linear, its chance apart. Those of a layer come in the same order as those
  /// of the layers that are played from it.
  OutlierStatistics next(std::int64_t layer);

 private:
  const Fold fold_;
  std::vector<std::vector<double>> quantiles_;  ///< by layer of the model that is played
  double highest_ = 0;                          ///< of them
  std::vector<std::size_t> taken_;              ///< of each layer that is walked
};

}  // namespace vramfit::pytorch
