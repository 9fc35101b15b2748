#include "runtimes/pytorch/torch/memory/fold.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <span>

namespace vramfit::pytorch {
namespace {

/// One that is played again, one to compare it with.
constexpr std::int64_t kPeriods = 2;

bool repeats_after(std::int64_t period, const ModelConfig& config, const Layers& layers) {
  for (std::int64_t i = layers.first; i + period < layers.end; ++i) {
    if (!alike(config, i, i + period)) return false;
  }
  return true;
}

/// Visits that share their place: one pass up or down the layers.
using LayerPass = std::span<const Visit>;

LayerPass first_pass(LayerPass visits) {
  const auto end = std::find_if(visits.begin(), visits.end(),
                                [&](const Visit& v) { return v.place != visits.front().place; });
  return visits.first(static_cast<std::size_t>(end - visits.begin()));
}

const Visit& visit_of(std::int64_t layer, LayerPass pass) {
  return pass[static_cast<std::size_t>(std::abs(layer - pass.front().layer))];
}

bool same_acts(const Recording& recording, const Visit& a, const Visit& b) {
  const Act* acts = recording.acts.data();
  return std::equal(acts + a.first, acts + a.last, acts + b.first, acts + b.last);
}

}  // namespace

std::int64_t period_of(const ModelConfig& config, const Layers& layers) {
  std::int64_t period = 1;
  while (!repeats_after(period, config, layers)) ++period;
  return period;
}

Fold Fold::none(const ModelConfig& config) { return {config.layers, 0, 1, 0}; }

Fold Fold::of(const ModelConfig& config) { return of(config, {0, config.layers}); }

// The first layers of each kind are not like the others, for what is made once is made there, and
// freed there last; nor are the last ones, where backward begins.
Fold Fold::of(const ModelConfig& config, const Layers& layers, std::int64_t edge,
              std::int64_t one_in) {
  const std::int64_t period = std::lcm(period_of(config, layers), one_in);
  const std::int64_t left_alone = std::max(period, edge);
  const std::int64_t periods = (layers.end - layers.first - 2 * left_alone) / period;
  if (periods <= kPeriods) return none(config);
  return {config.layers, layers.first + left_alone, period, (periods - kPeriods) * period};
}

ModelConfig Fold::walked(const ModelConfig& config) const {
  return without_layers(config, behind(), left_out_);
}

std::int64_t Fold::played_from(std::int64_t layer) const {
  if (layer < behind()) return layer;
  if (layer >= behind() + left_out_) return layer - left_out_;
  return first_ + (layer - behind()) % period_;
}

std::vector<Fold::Unfolded> Fold::unfold(const Recording& recording) const {
  std::vector<Unfolded> all;
  const std::int64_t behind = this->behind();
  for (LayerPass rest = recording.visits; !rest.empty();) {
    const LayerPass pass = first_pass(rest);
    for (const Visit& visit : pass) {
      all.push_back({&visit, played(visit.layer)});
      if (&visit == &pass.back()) break;
      const std::int64_t next = (&visit)[1].layer;
      const bool up = visit.layer == behind - 1 && next == behind;
      const bool down = visit.layer == behind && next == behind - 1;
      for (std::int64_t i = 0; i < left_out_ && (up || down); ++i) {
        const std::int64_t layer = behind + (up ? i : left_out_ - 1 - i);
        all.push_back({&visit_of(played_from(layer), pass), layer});
      }
    }
    rest = rest.subspan(pass.size());
  }
  return all;
}

bool Fold::holds_for(const Recording& recording) const {
  if (!folds()) return true;
  if (!recording.local) return false;
  const std::int64_t behind = first_ + kPeriods * period_;
  for (LayerPass rest = recording.visits; !rest.empty();) {
    const LayerPass pass = first_pass(rest);
    const auto [low, high] = std::minmax({pass.front().layer, pass.back().layer});
    const bool beside = high < first_ || low >= behind;
    if (!beside && (low > first_ || high < behind - 1)) return false;
    for (std::int64_t layer = first_; layer < first_ + period_ && !beside; ++layer) {
      const Visit& again = visit_of(layer + period_, pass);
      if (!same_acts(recording, visit_of(layer, pass), again)) return false;
    }
    rest = rest.subspan(pass.size());
  }
  return true;
}

}  // namespace vramfit::pytorch
