#include "estimator/timeline/verification.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>
#include <tuple>

#include "estimator/timeline/acts.h"
#include "estimator/timeline/alignment.h"
#include "estimator/timeline/start.h"

namespace vramfit {
namespace {

constexpr std::size_t kNone = ~std::size_t{0};

/// Sums by size and kind.
class Sums {
 public:
  void add(const Acts::Owner& owner, int count = 1) { add(owner, owner.what, count); }
  void add(const Acts::Owner& owner, const std::string& what, int count) {
    counts_[{owner.bytes, what}] += count;
  }

  std::vector<Alike> list() const {
    std::vector<Alike> list;
    for (const auto& [key, count] : counts_) {
      if (count != 0) list.push_back({key.first, count, key.second});
    }
    std::sort(list.begin(), list.end(), [](const Alike& a, const Alike& b) {
      return std::tuple(-std::llabs(a.total()), a.bytes, std::string_view(a.what)) <
             std::tuple(-std::llabs(b.total()), b.bytes, std::string_view(b.what));
    });
    return list;
  }

 private:
  std::map<std::pair<std::uint64_t, std::string>, std::int64_t> counts_;
};

/// One of the two runs that are compared.
struct Side {
  explicit Side(Acts of)
      : acts(std::move(of)),
        partner(acts.acts.size(), kNone),
        owner_partner(acts.owners.size(), kNone),
        end(acts.acts.size()) {}

  std::size_t allocations(std::size_t from, std::size_t to) const {
    const auto at = [this](std::size_t i) {
      return acts.acts.begin() + static_cast<std::ptrdiff_t>(i);
    };
    return static_cast<std::size_t>(
        std::count_if(at(from), at(to), [](const Acts::Act& act) { return act.allocates; }));
  }
  /// The first act without a partner, within; kNone: there is none.
  std::size_t alone(std::size_t from, std::size_t to, bool allocates) const {
    for (std::size_t i = from; i < to; ++i) {
      if (partner[i] == kNone && acts.acts[i].allocates == allocates) return i;
    }
    return kNone;
  }
  /// How many acts are done when most is allocated, from the start on, and how much that is.
  std::pair<std::size_t, std::uint64_t> peak() const {
    const std::vector<std::uint64_t> levels = acts.levels();
    const auto first = levels.begin() + static_cast<std::ptrdiff_t>(start);
    const auto most =
        std::max_element(first, levels.begin() + static_cast<std::ptrdiff_t>(end) + 1);
    return {static_cast<std::size_t>(most - levels.begin()), *most};
  }

  Acts acts;
  std::vector<std::size_t> partner;        ///< by act, the other side's; kNone: it has none
  std::vector<std::size_t> owner_partner;  ///< by owner, likewise
  std::size_t start = 0;                   ///< acts before are not compared, what they leave is
  std::size_t end;                         ///< acts from here on are beyond what the other side has
};

class Comparison {
 public:
  Comparison(const Recording& recording, const Expected& expected)
      : ledger_(expected.ledger),
        room_(expected.room),
        run_(acts_of(recording)),
        predicted_(acts_of(ledger_)) {
    const Start start = start_of(run_.acts, predicted_.acts, ledger_, recording.overflowed);
    pair_acts(start);
    if (start.late) {
      note_late(start);
    } else {
      leave_loading_out();
    }
    pair_what_is_there();
    pair_what_comes();
    result_.run_reserved = recording.peak_reserved;
    result_.overflowed = recording.overflowed;
    result_.out_of_memory = recording.out_of_memory;
    result_.notes = recording.notes;
  }

  Verification result() {
    find_end();
    count();
    find_differences();
    peaks();
    reserved();
    ending();
    result_.first = first_difference();
    return std::move(result_);
  }

 private:
  Moment moment(std::size_t predicted_act) const {
    const auto& acts = predicted_.acts.acts;
    if (acts.empty()) return {};
    const KeptEvent& e = ledger_.events[acts[std::min(predicted_act, acts.size() - 1)].event];
    return {e.stage, e.step};
  }

  void pair_acts(const Start& start) {
    run_.start = start.recorded;
    predicted_.start = start.predicted;
    for (auto [i, j] :
         aligned(predicted_.acts.tokens(start.predicted), run_.acts.tokens(start.recorded))) {
      i += start.predicted;
      j += start.recorded;
      pairs_.emplace_back(i, j);
      predicted_.partner[i] = j;
      run_.partner[j] = i;
    }
  }
  void pair_owners(std::size_t predicted, std::size_t recorded) {
    predicted_.owner_partner[predicted] = recorded;
    run_.owner_partner[recorded] = predicted;
  }

  void note_late(const Start& start) {
    result_.late = Late{moment(start.predicted), run_.acts.levels()[start.recorded],
                        predicted_.acts.levels()[start.predicted]};
  }

  /// The comparison starts with the model loaded: in the recording, with the first act after that
  /// which both have.
  void leave_loading_out() {
    predicted_.start = act_after_loading(predicted_.acts, ledger_);
    const auto in_run = [this](const auto& pair) { return pair.first >= predicted_.start; };
    const auto first = std::find_if(pairs_.begin(), pairs_.end(), in_run);
    run_.start = first == pairs_.end() ? run_.acts.acts.size() : first->second;
    pairs_.erase(pairs_.begin(), first);
  }

  /// What is there at the start, by size: the order in which weights are loaded is no difference.
  void pair_what_is_there() {
    there_run_ = run_.acts.live_before(run_.start);
    there_predicted_ = predicted_.acts.live_before(predicted_.start);
    std::multimap<std::uint64_t, std::size_t> open;
    for (const std::size_t owner : there_predicted_) {
      open.emplace(predicted_.acts.owners[owner].bytes, owner);
    }
    for (const std::size_t owner : there_run_) {
      const auto found = open.find(run_.acts.owners[owner].bytes);
      if (found == open.end()) continue;
      pair_owners(found->second, owner);
      open.erase(found);
    }
  }

  void pair_what_comes() {
    for (const auto& [i, j] : pairs_) {
      const Acts::Act& act = predicted_.acts.acts[i];
      if (act.allocates) pair_owners(act.owner, run_.acts.acts[j].owner);
    }
  }

  /// Where the recording ends, what is predicted beyond is not compared; but where it goes on
  /// otherwise, all is.
  void find_end() {
    const std::size_t after = pairs_.empty() ? predicted_.start : pairs_.back().first + 1;
    const std::size_t run_after = pairs_.empty() ? run_.start : pairs_.back().second + 1;
    if (run_.allocations(run_after, run_.end) > 0) return;
    if (predicted_.allocations(after, predicted_.end) > 0) {
      result_.ends = moment(after == 0 ? 0 : after - 1);
    }
    predicted_.end = after;
  }

  void count() {
    result_.recorded = there_run_.size() + run_.allocations(run_.start, run_.end);
    result_.predicted =
        there_predicted_.size() + predicted_.allocations(predicted_.start, predicted_.end);
    for (const std::size_t owner : there_run_) {
      if (run_.owner_partner[owner] != kNone) ++result_.matched;
    }
    for (const auto& [i, j] : pairs_) {
      if (predicted_.acts.acts[i].allocates) ++result_.matched;
    }
    result_.loading_alone = run_.allocations(run_.start, run_.end) == 0;
  }

  static std::vector<Alike> alone(const Side& side, const std::vector<std::size_t>& there) {
    Sums sums;
    for (const std::size_t owner : there) {
      if (side.owner_partner[owner] == kNone) sums.add(side.acts.owners[owner]);
    }
    for (std::size_t i = side.start; i < side.end; ++i) {
      const Acts::Act& act = side.acts.acts[i];
      if (side.partner[i] == kNone && act.allocates) {
        sums.add(side.acts.owners[act.owner]);
      }
    }
    return sums.list();
  }

  void find_differences() {
    result_.extra = alone(run_, there_run_);
    result_.missing = alone(predicted_, there_predicted_);
    for (std::size_t i = predicted_.start; i < predicted_.end; ++i) {
      const Acts::Act& act = predicted_.acts.acts[i];
      const bool of_both = predicted_.owner_partner[act.owner] != kNone;
      if (!act.allocates && predicted_.partner[i] == kNone && of_both) ++result_.freed_elsewhere;
    }
  }

  void peaks() {
    const auto [run_act, run_peak] = run_.peak();
    const auto [predicted_act, predicted_peak] = predicted_.peak();
    result_.run_peak = run_peak;
    result_.predicted_peak = predicted_peak;
    result_.peak_moment = moment(predicted_act == 0 ? 0 : predicted_act - 1);
    Sums sums;
    for (const std::size_t owner : run_.acts.live_before(run_act)) {
      const std::size_t partner = run_.owner_partner[owner];
      const Acts::Owner& of = run_.acts.owners[owner];
      sums.add(of, partner == kNone ? of.what : predicted_.acts.owners[partner].what, 1);
    }
    for (const std::size_t owner : predicted_.acts.live_before(predicted_act)) {
      sums.add(predicted_.acts.owners[owner], -1);
    }
    if (run_peak != predicted_peak) result_.at_peak = sums.list();
  }

  std::uint64_t reserved_between(std::size_t from, std::size_t to) const {
    std::uint64_t most = 0;
    for (std::size_t i = from; i < to; ++i) {
      most = std::max(most, ledger_.events[predicted_.acts.acts[i].event].reserved);
    }
    return most;
  }

  /// What a late recording begins with may be of any step: steps alike are not told apart.
  void reserved() {
    const std::size_t from = result_.late && predicted_.start > 0 ? predicted_.start - 1 : 0;
    const std::uint64_t least = reserved_between(from, predicted_.end);
    const std::uint64_t most =
        result_.late ? reserved_between(0, predicted_.acts.acts.size()) : least;
    result_.predicted_reserved = std::clamp(result_.run_reserved, least, most);
    result_.reserved_differs =
        !result_.out_of_memory && result_.run_reserved != result_.predicted_reserved;
  }

  /// A recording that ends before the prediction runs out does not contradict it.
  void ending() {
    if (result_.out_of_memory) {
      if (!room_) result_.ending = Ending::RunRanOut;
    } else if (room_ && predicted_.allocations(0, predicted_.end) > *room_) {
      result_.ending = Ending::PredictionRanOut;
    }
  }

  std::optional<Parting> first_difference() const {
    if (auto parting = at_start()) return parting;
    if (auto parting = between_pairs(true)) return parting;
    if (result_.run_peak == result_.predicted_peak) return std::nullopt;
    if (auto parting = between_pairs(false)) return parting;
    return Parting{result_.peak_moment, run_.allocations(0, run_.end), {}, {}, {}, {}, true};
  }

  Parting parting(std::size_t run_owner, std::size_t predicted_owner) const {
    Parting parting;
    if (run_owner != kNone) {
      parting.run_bytes = run_.acts.owners[run_owner].bytes;
      parting.run_what = run_.acts.owners[run_owner].what;
    }
    if (predicted_owner != kNone) {
      parting.predicted_bytes = predicted_.acts.owners[predicted_owner].bytes;
      parting.predicted_what = predicted_.acts.owners[predicted_owner].what;
    }
    return parting;
  }

  std::optional<Parting> at_start() const {
    const auto first_alone = [](const Side& side, const std::vector<std::size_t>& there) {
      const auto found = std::find_if(there.begin(), there.end(), [&](std::size_t owner) {
        return side.owner_partner[owner] == kNone;
      });
      return found == there.end() ? kNone : *found;
    };
    const std::size_t run = first_alone(run_, there_run_);
    const std::size_t predicted = first_alone(predicted_, there_predicted_);
    if (run == kNone && predicted == kNone) return std::nullopt;
    Parting first = parting(run, predicted);
    first.moment = result_.late ? result_.late->moment : Moment{Stage::Loaded, 0};
    first.recorded = run_.allocations(0, run_.start);
    return first;
  }

  std::optional<Parting> between_pairs(bool allocates) const {
    std::size_t i = predicted_.start;
    std::size_t j = run_.start;
    for (std::size_t at = 0; at <= pairs_.size(); ++at) {
      const bool last = at == pairs_.size();
      const std::size_t to_i = last ? predicted_.end : pairs_[at].first;
      const std::size_t to_j = last ? run_.end : pairs_[at].second;
      const std::size_t predicted = predicted_.alone(i, to_i, allocates);
      const std::size_t run = run_.alone(j, to_j, allocates);
      // The run's last frees may be of a program that ends.
      if (predicted != kNone || (run != kNone && (allocates || !last))) {
        const auto owner = [](const Side& side, std::size_t act) {
          return act == kNone ? kNone : side.acts.acts[act].owner;
        };
        Parting first = parting(owner(run_, run), owner(predicted_, predicted));
        first.moment = moment(predicted == kNone ? i : predicted);
        first.recorded = run_.allocations(0, run == kNone ? to_j : run);
        first.frees = !allocates;
        return first;
      }
      i = to_i + 1;
      j = to_j + 1;
    }
    return std::nullopt;
  }

  const KeptLedger& ledger_;
  const std::optional<std::size_t> room_;
  Side run_;
  Side predicted_;
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;  ///< acts: the prediction's, the run's
  std::vector<std::size_t> there_run_;                      ///< owners at the start
  std::vector<std::size_t> there_predicted_;
  Verification result_;
};

}  // namespace

Verification verify(const Recording& recording, const Expected& expected) {
  return Comparison(recording, expected).result();
}

}  // namespace vramfit
