#include "runtimes/pytorch/transformers/loading/outlier_draws.h"

#include <algorithm>
#include <random>

namespace vramfit::pytorch {

OutlierDraws::OutlierDraws(const Fold& fold, const std::vector<std::int64_t>& linears)
    : fold_(fold), taken_(linears.size()) {
  std::minstd_rand draws;
  for (std::int64_t layer = 0; layer < fold.layers(); ++layer) {
    std::vector<double>& of_layer = quantiles_.emplace_back();
    const auto count = linears[static_cast<std::size_t>(fold.played_from(layer))];
    for (std::int64_t i = 0; i < count; ++i) {
      const auto draw = static_cast<double>(draws());
      of_layer.push_back(draw / (static_cast<double>(std::minstd_rand::max()) + 1));
      highest_ = std::max(highest_, of_layer.back());
    }
  }
}

OutlierStatistics OutlierDraws::next(std::int64_t layer) {
  const std::size_t linear = taken_[static_cast<std::size_t>(layer)]++;
  OutlierStatistics outliers;
  outliers.played = fold_.folds();
  outliers.highest = highest_;
  for (std::int64_t played = 0; played < fold_.layers(); ++played) {
    if (fold_.played_from(played) != layer) continue;
    outliers.quantiles.emplace_back(played, quantiles_[static_cast<std::size_t>(played)][linear]);
  }
  return outliers;
}

}  // namespace vramfit::pytorch
