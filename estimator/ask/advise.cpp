#include "estimator/ask/advise.h"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "estimator/ask/in_parallel.h"
#include "estimator/cards.h"
#include "estimator/slowdowns.h"
#include "model/errors.h"

namespace vramfit {
namespace {

/// Changes at once, unless fewer than all there are do not suffice.
constexpr std::size_t kFew = 3;
/// Decode steps that are walked of what is only tried.
constexpr std::int64_t kTrialDecodes = 16;
constexpr std::size_t kCards = 3;

using Adjustments = std::vector<const Adjustment*>;
using Parts = std::set<std::string>;

Parts parts_of(const Adjustments& adjustments) {
  Parts parts;
  for (const Adjustment* adjustment : adjustments)
    parts.insert(adjustment->parts.begin(), adjustment->parts.end());
  return parts;
}

/// Flags that it sets or goes without.
std::set<std::string> flags_of(const Adjustment& adjustment) {
  std::set<std::string> names;
  for (const Choice& choice : adjustment.choices) {
    for (const auto& [name, value] : choice.flags) names.insert(name);
    names.insert(choice.without.begin(), choice.without.end());
  }
  return names;
}

/// Whether no two of them are about the same flag.
bool go_together(const Adjustments& adjustments) {
  std::set<std::string> seen;
  for (const Adjustment* adjustment : adjustments) {
    for (const std::string& flag : flags_of(*adjustment)) {
      if (!seen.insert(flag).second) return false;
    }
  }
  return true;
}

/// Every selection of `count` adjustments, in their order.
std::vector<Adjustments> selections(const std::vector<Adjustment>& adjustments, std::size_t count) {
  std::vector<Adjustments> list;
  std::vector<bool> taken(adjustments.size(), false);
  std::fill_n(taken.begin(), count, true);
  do {
    Adjustments selection;
    for (std::size_t i = 0; i < adjustments.size(); ++i) {
      if (taken[i]) selection.push_back(&adjustments[i]);
    }
    list.push_back(std::move(selection));
  } while (std::prev_permutation(taken.begin(), taken.end()));
  return list;
}

/// Of what is run, with the mildest choices.
double keeps_at_most(const Adjustments& adjustments) {
  double keeps = 1;
  for (const Adjustment* adjustment : adjustments) keeps *= adjustment->choices.front().keeps;
  return keeps;
}

/// What a token's time is of, as data/slowdowns.json names it. A run that generates one token
/// decodes nothing: prefill yields it.
std::string timed(const Workload& workload) {
  if (workload.training()) return "training";
  return workload.decodes() > 0 ? "decoding" : "prefill";
}

/// What a change is timed beside, as data/slowdowns.json names it: nothing where weights are of 16
/// bits without adapters, and nothing that the change itself is about.
std::string beside(const SettingChange& change, const Workload& workload) {
  if (change.kind == "precision") return "";
  const Facts facts = workload.facts();
  std::string text = change.kind != "lora" && facts.adapters ? "lora" : "";
  if (facts.autocast) text += text.empty() ? "autocast" : " autocast";
  const bool fp32 = workload.computes_in() == DType::Fp32;
  if (fp32) text += text.empty() ? "fp32" : " fp32";
  return text;
}

class Adviser {
 public:
  Adviser(const Request& request, Flags flags, bool surely)
      : request_(request), flags_(std::move(flags)), surely_(surely) {
    // A default may be shorter than it is elsewhere.
    const Runtime& runtime = request.workload->runtime();
    for (const SearchAxis& axis : runtime.axes()) {
      if (!axis.of_positions || said_instead(runtime.settings(), flags_, axis.name)) continue;
      flags_[std::string(axis.name)] = std::to_string(request.workload->size(axis));
    }
  }

  /// As many changes at once as are enough, the fewest first. `told` hears after each number of
  /// them what is enough so far.
  void all(const std::vector<Adjustment>& adjustments,
           const std::function<void(std::vector<Advice>)>& told) const {
    std::vector<Enough> found;
    for (std::size_t count = 1; count <= adjustments.size(); ++count) {
      if (count > kFew && !found.empty()) break;
      std::vector<Adjustments> list = selections(adjustments, count);
      std::erase_if(list, [&](const Adjustments& some) {
        return !go_together(some) ||
               has_enough(found, parts_of(some), Verdict::Fits, keeps_at_most(some));
      });
      std::vector<std::optional<Advice>> advice(list.size());
      in_parallel(list.size(), [&](std::size_t i) { advice[i] = with(list[i]); });
      for (std::size_t i = 0; i < list.size(); ++i) {
        Parts parts = parts_of(list[i]);
        if (!advice[i] ||
            has_enough(found, parts, advice[i]->estimate.verdict, advice[i]->keeps())) {
          continue;
        }
        found.push_back({std::move(parts), std::move(*advice[i])});
      }
      std::vector<Advice> so_far;
      for (const Enough& enough : found) so_far.push_back(enough.advice);
      told(std::move(so_far));
    }
  }

  /// What is enough of `gpus`, else of these with one of `adjustments` each.
  std::vector<Advice> over(const std::vector<Adjustment>& gpus,
                           const std::vector<Adjustment>& adjustments) const {
    std::vector<Advice> found;
    for (const Adjustment& adjustment : gpus) {
      if (auto advice = with({&adjustment})) found.push_back(std::move(*advice));
    }
    if (!found.empty()) return found;
    for (const Adjustment& adjustment : gpus) {
      for (const Adjustment& other : adjustments) {
        if (!go_together({&other, &adjustment})) continue;
        if (auto advice = with({&adjustment, &other})) found.push_back(std::move(*advice));
      }
    }
    return found;
  }

  /// As much as can be changed: of adjustments that do not go together, the later ones.
  std::optional<Advice> least(const std::vector<Adjustment>& adjustments) const {
    Adjustments selection;
    for (auto adjustment = adjustments.rbegin(); adjustment != adjustments.rend(); ++adjustment) {
      selection.insert(selection.begin(), &*adjustment);
      if (!go_together(selection)) selection.erase(selection.begin());
    }
    std::vector<const Choice*> choices;
    for (const Adjustment* adjustment : selection) choices.push_back(&adjustment->choices.back());
    return advice(choices);
  }

 private:
  using Choices = std::vector<const Choice*>;

  struct Enough {
    Parts parts;
    Advice advice;
  };

  /// Whether some of these changes alone lead to that verdict, or a better one, and keep as much of
  /// what is run.
  static bool has_enough(const std::vector<Enough>& found, const Parts& parts, Verdict verdict,
                         double keeps) {
    return std::any_of(found.begin(), found.end(), [&](const Enough& fewer) {
      return fewer.advice.estimate.verdict <= verdict && fewer.advice.keeps() >= keeps &&
             std::includes(parts.begin(), parts.end(), fewer.parts.begin(), fewer.parts.end());
    });
  }

  /// The mildest choices of these adjustments with which it surely fits, or where none do, with
  /// which it is predicted to.
  std::optional<Advice> with(const Adjustments& adjustments) const {
    std::optional<Advice> found = with(adjustments, true);
    return found || surely_ ? found : with(adjustments, false);
  }

  std::optional<Advice> with(const Adjustments& adjustments, bool surely) const {
    Choices choices;
    for (const Adjustment* adjustment : adjustments) choices.push_back(&adjustment->choices.back());
    if (!fits(choices, surely)) return std::nullopt;
    for (std::size_t i = 0; i < adjustments.size(); ++i) relax(choices, i, *adjustments[i], surely);
    std::optional<Advice> found = advice(choices);
    if (!found) return std::nullopt;
    const Estimate& estimate = found->estimate;
    if (!is_enough({estimate.fits, estimate.verdict == Verdict::Fits}, surely)) return std::nullopt;
    return found;
  }

  /// Makes the choice at `i` as mild as the others let it be.
  void relax(Choices& choices, std::size_t i, const Adjustment& adjustment, bool surely) const {
    std::size_t mildest = 0;
    std::size_t enough = adjustment.choices.size() - 1;
    while (mildest < enough) {
      const std::size_t tried = adjustment.of_sizes ? mildest + (enough - mildest) / 2 : mildest;
      choices[i] = &adjustment.choices[tried];
      if (fits(choices, surely)) {
        enough = tried;
      } else {
        mildest = tried + 1;
      }
    }
    choices[i] = &adjustment.choices[enough];
  }

  /// The same is asked of many selections.
  bool fits(const Choices& choices, bool surely) const {
    const Flags flags = with_flags(choices);
    {
      const std::lock_guard lock(mutex_);
      const auto known = tried_.find(flags);
      if (known != tried_.end()) return is_enough(known->second, surely);
    }
    Fitting tried;
    try {
      Request request = changed(flags);
      request.samples = std::min(request.samples, kTrialDecodes);
      tried = fitting(request);
    } catch (const BadInput&) {
      tried = {};
    }
    const std::lock_guard lock(mutex_);
    return is_enough(tried_.emplace(flags, tried).first->second, surely);
  }

  static bool is_enough(const Fitting& tried, bool surely) {
    return surely ? tried.surely : tried.fits;
  }

  Flags with_flags(const Choices& choices) const {
    Flags flags = flags_;
    for (const Choice* choice : choices) {
      for (const std::string& name : choice->without) flags.erase(name);
      for (const auto& [name, value] : choice->flags) flags[name] = value;
    }
    return flags;
  }

  /// Throws BadInput where the model cannot be run so.
  Request changed(const Flags& flags) const {
    Request request = request_;
    const Workload& workload = *request_.workload;
    request.workload = workload.runtime().workload(flags, workload.training(), request_.model);
    return request;
  }

  /// Nothing where the model cannot be run so.
  std::optional<Advice> advice(const Choices& choices) const {
    Advice advice;
    try {
      advice.request = changed(with_flags(choices));
      advice.estimate = estimate(advice.request, OomDetail::Untold);
    } catch (const BadInput&) {
      return std::nullopt;
    }
    for (const Choice* choice : choices) {
      advice.choices.push_back(*choice);
      std::erase_if(advice.choices.back().without,
                    [&](const std::string& name) { return flags_.count(name) == 0; });
    }
    const Workload& workload = *advice.request.workload;
    for (const SettingChange& change : advice.changes()) {
      advice.slowdowns.push_back(slowdowns().of(workload.runtime().name(), timed(workload), change,
                                                beside(change, workload)));
    }
    return advice;
  }

  const Request& request_;
  Flags flags_;
  const bool surely_;
  mutable std::mutex mutex_;
  mutable std::map<Flags, Fitting> tried_;
};

/// Of the catalogue, the smallest first.
std::vector<std::string> cards_that_hold(const Request& request) {
  std::vector<const Card*> by_size;
  for (const Card& card : cards()) by_size.push_back(&card);
  std::stable_sort(by_size.begin(), by_size.end(),
                   [](const Card* a, const Card* b) { return a->vram < b->vram; });
  std::vector<std::string> names;
  for (const Card* card : by_size) {
    if (card->arch.sm < request.workload->oldest_sm()) continue;
    Request other = request;
    other.samples = std::min(other.samples, kTrialDecodes);
    other.budget = budget_of(*card);
    other.budget.headroom = request.budget.headroom;
    if (fitting(other).surely) names.push_back(card->name);
    if (names.size() == kCards) break;
  }
  return names;
}

/// Those that nobody measured last, and of these what leaves less of the run.
void sort_by_time(std::vector<Advice>& list) {
  const auto cost_of = [](const Advice& advice) {
    const std::optional<double> time = advice.slowdown();
    return std::tuple(!time, time.value_or(0), -advice.keeps());
  };
  std::stable_sort(list.begin(), list.end(),
                   [&](const Advice& a, const Advice& b) { return cost_of(a) < cost_of(b); });
}

}  // namespace

std::vector<SettingChange> Advice::changes() const {
  std::vector<SettingChange> list;
  for (const Choice& choice : choices) {
    list.insert(list.end(), choice.changes.begin(), choice.changes.end());
  }
  return list;
}

double Advice::keeps() const {
  double product = 1;
  for (const Choice& choice : choices) product *= choice.keeps;
  return product;
}

std::optional<double> Advice::slowdown() const {
  double product = 1;
  for (const std::optional<double>& slowdown : slowdowns) {
    if (!slowdown) return std::nullopt;
    product *= *slowdown;
  }
  return product;
}

std::string flags_text(const Advice& advice) {
  Flags flags;
  for (const Choice& choice : advice.choices) {
    for (const auto& flag : choice.flags) flags.insert(flag);
  }
  std::string text;
  for (const auto& [flag, value] : flags) {
    text += (text.empty() ? "--" : " --") + flag + (value.empty() ? "" : " " + value);
  }
  return text;
}

std::vector<std::string> without(const Advice& advice) {
  std::vector<std::string> names;
  for (const Choice& choice : advice.choices) {
    names.insert(names.end(), choice.without.begin(), choice.without.end());
  }
  return names;
}

Advised advise(const Request& request, const Flags& flags, bool surely,
               const std::function<void(const Advised&)>& told) {
  const Adviser adviser(request, flags, surely);
  const std::vector<Adjustment> adjustments = request.workload->adjustments(request.model);
  Advised advised;
  advised.timed = timed(*request.workload);
  advised.cards = cards_that_hold(request);
  adviser.all(adjustments, [&](std::vector<Advice> so_far) {
    advised.list = std::move(so_far);
    sort_by_time(advised.list);
    if (told) told(advised);
  });
  advised.on_several_gpus = adviser.over(request.workload->gpu_adjustments(), adjustments);
  sort_by_time(advised.on_several_gpus);
  if (advised.list.empty() && !adjustments.empty()) advised.least = adviser.least(adjustments);
  return advised;
}

}  // namespace vramfit
