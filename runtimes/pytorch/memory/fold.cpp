#include "runtimes/pytorch/memory/fold.h"

#include <algorithm>

namespace vramfit::pytorch {
namespace {

/// One that is played again, one to compare it with.
constexpr std::int64_t kTurns = 2;

/// The first layers of each kind are not like the others, for what is made once is made there, and
/// freed there last; nor are the last ones, where backward begins. So many are left alone.
std::int64_t edge(std::int64_t turn) { return std::max<std::int64_t>(turn, 2); }

bool repeats_after(std::int64_t turn, const ModelConfig& config) {
  for (std::int64_t i = 0; i + turn < config.layers; ++i) {
    if (config.slides(i) != config.slides(i + turn)) return false;
  }
  return true;
}

bool same_way(const Visit& a, const Visit& b) {
  return a.layer != kNoLayer && b.layer != kNoLayer && a.place == b.place;
}

bool same_acts(const Recording& recording, const Visit& a, const Visit& b) {
  const Act* acts = recording.acts.data();
  return std::equal(acts + a.first, acts + a.last, acts + b.first, acts + b.last);
}

}  // namespace

Fold Fold::none(const ModelConfig& config) { return {config.layers, 1, 0}; }

Fold Fold::of(const ModelConfig& config) {
  for (std::int64_t turn = 1; turn < config.layers; ++turn) {
    const std::int64_t turns = (config.layers - 2 * edge(turn)) / turn;
    if (turns <= kTurns) break;
    if (repeats_after(turn, config)) return {config.layers, turn, (turns - kTurns) * turn};
  }
  return none(config);
}

ModelConfig Fold::walked(ModelConfig config) const {
  config.layers -= left_out_;
  if (!config.sliding_layers.empty()) {
    config.sliding_layers.resize(static_cast<std::size_t>(config.layers));
  }
  return config;
}

std::vector<Fold::Unfolded> Fold::unfold(const Recording& recording) const {
  const std::vector<Visit>& visits = recording.visits;
  std::vector<Unfolded> all;
  const std::int64_t behind = edge(turn_) + turn_;  // the first layer that is not played again
  for (const Visit& visit : visits) {
    all.push_back({&visit, visit.layer + (visit.layer >= behind ? left_out_ : 0)});
    const Visit* next = &visit + 1;
    if (next == visits.data() + visits.size() || !same_way(visit, *next)) continue;
    if (visit.layer == behind - 1 && next->layer == behind) {
      const Visit* turn = next - turn_;
      for (std::int64_t i = 0; i < left_out_; ++i) all.push_back({turn + i % turn_, behind + i});
    } else if (visit.layer == behind && next->layer == behind - 1) {
      const Visit* turn = next + turn_ - 1;
      for (std::int64_t i = left_out_; i-- > 0;) all.push_back({turn - i % turn_, behind + i});
    }
  }
  return all;
}

bool Fold::holds_for(const Recording& recording) const {
  if (!folds()) return true;
  if (!recording.local) return false;
  const Visit* end = recording.visits.data() + recording.visits.size();
  for (const Visit* way = recording.visits.data(); way != end;) {
    const Visit* after =
        std::find_if(way, end, [way](const Visit& v) { return !same_way(*way, v); });
    if (way->layer == kNoLayer) {
      ++way;
      continue;
    }
    const Visit* low = way->layer < (after - 1)->layer ? way : after - 1;
    const Visit* high = low == way ? after - 1 : way;
    const int up = low == way ? 1 : -1;
    const std::int64_t begin = edge(turn_);
    const bool beside = high->layer < begin || low->layer >= begin + kTurns * turn_;
    if (!beside) {
      if (low->layer > begin || high->layer < begin + kTurns * turn_ - 1) return false;
      const Visit* first = low + up * (begin - low->layer);
      for (std::int64_t i = 0; i < turn_; ++i) {
        if (!same_acts(recording, first[up * i], first[up * (i + turn_)])) return false;
      }
    }
    way = after;
  }
  return true;
}

}  // namespace vramfit::pytorch
