#include "runtimes/pytorch/torch/memory/fold.h"

#include <algorithm>
#include <cstdlib>
#include <span>

namespace vramfit::pytorch {
namespace {

/// One that is played again, one to compare it with.
constexpr std::int64_t kTurns = 2;

/// The first layers of each kind are not like the others, for what is made once is made there, and
/// freed there last; nor are the last ones, where backward begins. So many are left alone.
std::int64_t edge(std::int64_t turn) { return std::max<std::int64_t>(turn, 2); }

bool repeats_after(std::int64_t turn, const ModelConfig& config, const Layers& layers) {
  for (std::int64_t i = layers.first; i + turn < layers.end; ++i) {
    if (!alike(config, i, i + turn)) return false;
  }
  return true;
}

/// Visits that share their place: one way up or down the layers.
using Way = std::span<const Visit>;

Way first_way(Way visits) {
  const auto end = std::find_if(visits.begin(), visits.end(),
                                [&](const Visit& v) { return v.place != visits.front().place; });
  return visits.first(static_cast<std::size_t>(end - visits.begin()));
}

const Visit& visit_of(std::int64_t layer, Way way) {
  return way[static_cast<std::size_t>(std::abs(layer - way.front().layer))];
}

bool same_acts(const Recording& recording, const Visit& a, const Visit& b) {
  const Act* acts = recording.acts.data();
  return std::equal(acts + a.first, acts + a.last, acts + b.first, acts + b.last);
}

}  // namespace

std::int64_t turn_of(const ModelConfig& config, const Layers& layers) {
  std::int64_t turn = 1;
  while (!repeats_after(turn, config, layers)) ++turn;
  return turn;
}

Fold Fold::none(const ModelConfig& config) { return {config.layers, 0, 1, 0}; }

Fold Fold::of(const ModelConfig& config) { return of(config, {0, config.layers}); }

Fold Fold::of(const ModelConfig& config, const Layers& layers) {
  const std::int64_t turn = turn_of(config, layers);
  const std::int64_t turns = (layers.end - layers.first - 2 * edge(turn)) / turn;
  if (turns <= kTurns) return none(config);
  return {config.layers, layers.first + edge(turn), turn, (turns - kTurns) * turn};
}

ModelConfig Fold::walked(const ModelConfig& config) const {
  return without_layers(config, behind(), left_out_);
}

std::vector<Fold::Unfolded> Fold::unfold(const Recording& recording) const {
  std::vector<Unfolded> all;
  const std::int64_t behind = this->behind();
  for (Way rest = recording.visits; !rest.empty();) {
    const Way way = first_way(rest);
    for (const Visit& visit : way) {
      all.push_back({&visit, visit.layer + (visit.layer >= behind ? left_out_ : 0)});
      if (&visit == &way.back()) break;
      const std::int64_t next = (&visit)[1].layer;
      const bool up = visit.layer == behind - 1 && next == behind;
      const bool down = visit.layer == behind && next == behind - 1;
      for (std::int64_t i = 0; i < left_out_ && (up || down); ++i) {
        const std::int64_t layer = behind + (up ? i : left_out_ - 1 - i);
        all.push_back({&visit_of(first_ + (layer - behind) % turn_, way), layer});
      }
    }
    rest = rest.subspan(way.size());
  }
  return all;
}

bool Fold::holds_for(const Recording& recording) const {
  if (!folds()) return true;
  if (!recording.local) return false;
  const std::int64_t behind = first_ + kTurns * turn_;
  for (Way rest = recording.visits; !rest.empty();) {
    const Way way = first_way(rest);
    const auto [low, high] = std::minmax({way.front().layer, way.back().layer});
    const bool beside = high < first_ || low >= behind;
    if (!beside && (low > first_ || high < behind - 1)) return false;
    for (std::int64_t layer = first_; layer < first_ + turn_ && !beside; ++layer) {
      const Visit& again = visit_of(layer + turn_, way);
      if (!same_acts(recording, visit_of(layer, way), again)) return false;
    }
    rest = rest.subspan(way.size());
  }
  return true;
}

}  // namespace vramfit::pytorch
