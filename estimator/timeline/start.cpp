#include "estimator/timeline/start.h"

#include <algorithm>
#include <tuple>

namespace vramfit {
namespace {

/// As far as is looked whether two go on alike.
constexpr std::size_t kLookAhead = 256;
/// A stage begins somewhere in so many acts.
constexpr std::size_t kLongestStage = std::size_t{1} << 16;

std::size_t act_at(const Acts& acts, std::size_t event) {
  const auto later = [&](const Acts::Act& act) { return act.event >= event; };
  return static_cast<std::size_t>(std::find_if(acts.acts.begin(), acts.acts.end(), later) -
                                  acts.acts.begin());
}

/// Acts with which stages begin.
std::vector<std::size_t> beginnings(const Acts& acts, const KeptLedger& ledger) {
  std::vector<std::size_t> list;
  std::size_t act = 0;
  for (std::size_t i = 0; i < ledger.events.size(); ++i) {
    while (act < acts.acts.size() && acts.acts[act].event < i) ++act;
    if (ledger.events[i].kind == Event::Kind::StageBegin) list.push_back(act);
  }
  return list;
}

class Search {
 public:
  Search(const Acts& recorded, const Acts& predicted)
      : recorded_(recorded.tokens(0)),
        predicted_(predicted.tokens(0)),
        recorded_levels_(recorded.levels()),
        predicted_levels_(predicted.levels()) {}

  void consider(std::size_t recorded, std::size_t predicted) {
    std::size_t alike = 0;
    while (alike < kLookAhead && recorded + alike < recorded_.size() &&
           predicted + alike < predicted_.size() &&
           recorded_[recorded + alike] == predicted_[predicted + alike]) {
      ++alike;
    }
    if (alike == 0 || alike < alike_) return;
    const std::uint64_t a = recorded_levels_[recorded];
    const std::uint64_t b = predicted_levels_[predicted];
    const std::uint64_t off = std::max(a, b) - std::min(a, b);
    if (alike == alike_ && off >= off_) return;
    alike_ = alike;
    off_ = off;
    best_.recorded = recorded;
    best_.predicted = predicted;
  }

  Start best() const { return best_; }
  std::size_t recorded_size() const { return recorded_.size(); }
  std::size_t predicted_size() const { return predicted_.size(); }

 private:
  const std::vector<std::int64_t> recorded_;
  const std::vector<std::int64_t> predicted_;
  const std::vector<std::uint64_t> recorded_levels_;
  const std::vector<std::uint64_t> predicted_levels_;
  std::size_t alike_ = 0;
  std::uint64_t off_ = 0;
  Start best_;
};

}  // namespace

std::size_t act_after_loading(const Acts& predicted, const KeptLedger& ledger) {
  const auto loaded = [](const KeptEvent& e) {
    return e.stage == Stage::Loaded && e.kind == Event::Kind::StageEnd;
  };
  const auto end = std::find_if(ledger.events.begin(), ledger.events.end(), loaded);
  if (end == ledger.events.end()) return 0;
  return act_at(predicted, static_cast<std::size_t>(end - ledger.events.begin()));
}

Start start_of(const Acts& recorded, const Acts& predicted, const KeptLedger& ledger,
               bool overflowed) {
  const std::size_t after_loading = act_after_loading(predicted, ledger);
  const bool loaded =
      2 * recorded.levels().front() > predicted.levels()[after_loading] && after_loading > 0;
  if (!overflowed && !loaded) return {};
  Search search(recorded, predicted);
  for (std::size_t act = after_loading; act < search.predicted_size(); ++act) {
    search.consider(0, act);
  }
  std::vector<std::size_t> at = beginnings(predicted, ledger);
  at.push_back(after_loading);
  const std::size_t searched = std::min(search.recorded_size(), kLongestStage);
  for (const std::size_t begin : at) {
    if (begin < after_loading) continue;
    for (std::size_t act = 1; act < searched; ++act) search.consider(act, begin);
  }
  Start start = search.best();
  start.late = true;
  return start;
}

}  // namespace vramfit
