#include "estimator/search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

namespace vramfit {
namespace {

using Fits = std::function<bool(std::int64_t)>;

/// The answer between a size that fits and one that does not.
std::int64_t bisect(std::int64_t low, std::int64_t high, const Fits& fits) {
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

/// Where the line through both reaches nothing, or the middle.
std::int64_t between(const Point& low, const Point& high, bool middle) {
  const std::int64_t gap = high.size - low.size;
  if (middle) return low.size + gap / 2;
  const double part = low.slack / (low.slack - high.slack);
  const auto ahead = static_cast<std::int64_t>(part * static_cast<double>(gap));
  return low.size + std::clamp<std::int64_t>(ahead, 1, gap - 1);
}

/// A line that comes no nearer to nothing left is not tried again before so many halves.
constexpr double kNearer = 0.5;
constexpr int kHalves = 2;
/// How far a line is believed outside of what was tried, in steps.
constexpr double kBelieved = 8;

/// Outside of an end the size that is a step away, or where the line through the one before and it
/// reaches nothing, and a little further; below an end no less than its half, for a guess has its
/// order.
std::int64_t beyond(const Point& end, const std::optional<Point>& before, std::int64_t step) {
  double ahead = static_cast<double>(step);
  if (before && std::abs(end.slack) < std::abs(before->slack)) {
    const double part = end.slack / (before->slack - end.slack);
    const double to_nothing = part * std::abs(static_cast<double>(end.size - before->size));
    const double far = std::abs(ahead);
    ahead = std::copysign(std::clamp(to_nothing + far / 4, std::max(far / 4, 1.0), kBelieved * far),
                          ahead);
  }
  return std::max(end.size + static_cast<std::int64_t>(ahead), end.size / 2);
}

/// Dips of what tensors take are smaller.
constexpr double kSlack = 1.03;
/// From here on a larger size takes no other path through the model.
constexpr std::int64_t kSameFromHere = 8;
/// Answers up to here are exact.
constexpr std::int64_t kExact = 1024;
/// Steps of the passes between bound and answer, as parts of the bound.
constexpr std::int64_t kVeryCoarse = 16;
constexpr std::int64_t kCoarse = 64;
constexpr std::int64_t kMiddle = 256;
constexpr std::int64_t kFine = 1024;
/// Trials between the first half that fits and its double, where no others may be made.
constexpr int kMoreHalves = 3;
/// Attention pads sequences to a multiple of this: those that are one take less.
constexpr std::int64_t kPad = 8;
constexpr std::int64_t kSlightlyPadded = 64;

// What is reserved rises and falls like the teeth of a saw: by up to 24 % from one size to the
// next, each tooth as wide as a fifth of the size at most (40 series over the shipped models). So
// no hole follows below where few sizes in a row stay clear of the card's size by more than a tooth
// is high, or where sizes stay clear by a little for longer than a tooth is wide.
constexpr double kFarBelow = 0.75;
constexpr std::int64_t kFarBelowSizes = 4;
constexpr double kBelow = 0.97;
constexpr std::int64_t kBelowSizes = 64;
constexpr std::int64_t kTooth = 3;

class SizeSearch {
 public:
  SizeSearch(std::int64_t limit, const Trials& trials) : limit_(limit), trials_(trials) {
    found_.step = limit;  // none was tried
  }

  Largest operator()() {
    const std::int64_t bound = upper_bound();
    search_down_from(bound);
    if (found_.size == 0) {
      if (!trials_.spent() && !trials_.few) found_.step = 1;
      return found_;
    }
    if (!trials_.few) found_.holes = holes();
    if (found_.step > 1) to_the_edge();
    const auto above = tried_.upper_bound(found_.size);
    if (above != tried_.end()) {
      found_.next = above->first;
    } else if (found_.size < limit_) {
      found_.next = found_.size + 1;  // the bound itself fits
    }
    return found_;
  }

 private:
  /// Of the multiple of 8 below where that is near: it takes less.
  double least(std::int64_t size) const {
    return trials_.least(size < kSlightlyPadded ? size : size - size % kPad);
  }
  bool could_fit(std::int64_t size) const { return least(size) <= kSlack; }

  /// No larger size can fit.
  std::int64_t upper_bound() {
    std::int64_t low = 0;  // the last doubling that could fit
    for (std::int64_t size = 1;; size = size > limit_ / 2 ? limit_ : 2 * size) {
      const bool could = could_fit(size);
      if (could) low = size;
      if (size == limit_ || (!could && size >= kSameFromHere)) break;
    }
    if (low == 0 || low == limit_) return low;
    return largest_near(
        guess_above(low), [this](std::int64_t size) { return could_fit(size); },
        std::min(limit_, 2 * low));
  }

  /// Where the line through two sizes reaches what the card has.
  std::int64_t guess_above(std::int64_t low) {
    const std::int64_t half = std::max<std::int64_t>(low / 2, 1);
    const double slope =
        (least(low) - least(half)) / static_cast<double>(std::max<std::int64_t>(low - half, 1));
    if (slope <= 0.0) return low;
    const double ahead = std::min((kSlack - least(low)) / slope, static_cast<double>(low));
    return low + static_cast<std::int64_t>(ahead);
  }

  /// Coarse steps first, so that an expensive search that has to end early ends near the answer.
  /// Steps are odd, so that no remainder is left out.
  void search_down_from(std::int64_t bound) {
    pass(bound, (bound / (trials_.few ? kVeryCoarse : kCoarse)) | 1,
         [this](std::int64_t size) { return hopeless(size); });
    if (!trials_.few) search_between(bound);
    if (found_.size == 0 && (trials_.few || trials_.spent())) halve(bound);
  }

  /// In finer and finer steps. Those of padded sizes begin at the first that is not below the
  /// bound: sizes between the last below and the bound may still fit.
  void search_between(std::int64_t bound) {
    const auto skips = [=, this](std::int64_t size) {
      return size > bound || among_hopeless(size);
    };
    pass(bound, (bound / kMiddle) | 1, skips);
    pass((bound + kPad - 1) / kPad * kPad, kPad * (bound / kPad / kFine | 1), skips);
    pass(bound, found_.size <= kExact ? 1 : (bound / kFine) | 1, skips);
  }

  /// On to a size whose next does not fit.
  void to_the_edge() {
    const auto slack = [this](std::int64_t size) { return trial(size).fits ? 1.0 : -1.0; };
    const auto above = tried_.upper_bound(found_.size);
    const std::int64_t limit = above == tried_.end() ? limit_ : above->first - 1;
    found_.size = edge_near(found_.size, slack, limit, trials_.exhausted);
  }

  /// Something is found where there is something, also when no more may be tried. The smallest
  /// size is tried last.
  void halve(std::int64_t size) {
    while (size > 0 && !trial(size).fits) size /= 2;
    if (size == 0) return;
    std::int64_t step = size;
    for (int more = 0; more < kMoreHalves && step > 1; ++more) {
      step /= 2;
      if (trial(size + step).fits) size += step;
    }
    found_.size = size;
    found_.step = widest_gap_above(size);
    found_.from.reset();
  }

  /// Between sizes that were tried.
  std::int64_t widest_gap_above(std::int64_t size) const {
    std::int64_t widest = 1;
    for (auto next = tried_.upper_bound(size); next != tried_.end(); ++next) {
      widest = std::max(widest, next->first - size);
      size = next->first;
    }
    return widest;
  }

  template <typename Skips>
  void pass(std::int64_t bound, std::int64_t step, const Skips& skips) {
    for (std::int64_t size = bound; size > found_.size; size -= step) {
      if (trials_.spent()) return;
      if (!skips(size) && trial(size).fits) found_.size = size;
    }
    if (step > found_.step) return;
    found_.step = step;
    found_.from = bound;
  }

  bool hopeless(std::int64_t size) {
    if (could_fit(size)) return false;
    hopeless_.insert(size);
    tried_.try_emplace(size);
    return true;
  }

  /// Whether the sizes that were tried next to this one, below and above, have no room for their
  /// tensors: then this one has none either.
  bool among_hopeless(std::int64_t size) const {
    const auto above = tried_.lower_bound(size);
    return above != tried_.end() && above != tried_.begin() && hopeless_.count(above->first) == 1 &&
           hopeless_.count(std::prev(above)->first) == 1;
  }

  const Trial& trial(std::int64_t size) {
    const auto [at, fresh] = tried_.try_emplace(size);
    if (fresh) at->second = trials_.run(size);
    return at->second;
  }

  std::optional<std::vector<std::int64_t>> holes() {
    std::set<std::int64_t> holes;
    std::int64_t size = found_.size - found_.step;
    std::int64_t below = 0;
    std::int64_t far_below = 0;
    for (; size >= 1 && !trials_.spent(); size -= found_.step) {
      const Trial& tried = trial(size);
      if (!tried.fits) holes.insert(size);
      below = tried.fits && tried.reserved <= kBelow ? below + 1 : 0;
      far_below = tried.fits && tried.reserved <= kFarBelow ? far_below + 1 : 0;
      if (far_below == kFarBelowSizes) break;
      if (below >= kBelowSizes && below * found_.step >= size / kTooth) break;
    }
    if (trials_.spent()) return std::nullopt;
    // The smallest sizes may take another path.
    for (std::int64_t small = 1; small <= std::min(kSameFromHere, size); small *= 2) {
      if (!trial(small).fits) holes.insert(small);
    }
    return std::vector<std::int64_t>(holes.begin(), holes.end());
  }

  std::int64_t limit_;
  const Trials& trials_;
  std::map<std::int64_t, Trial> tried_;
  std::set<std::int64_t> hopeless_;
  Largest found_;
};

}  // namespace

std::int64_t largest_near(std::int64_t guess, const Fits& fits, std::int64_t limit) {
  guess = std::clamp<std::int64_t>(guess, 0, limit);
  std::int64_t step = 1;
  if (guess > 0 && !fits(guess)) {
    std::int64_t high = guess;
    while (high - step > 0 && !fits(high - step)) {
      high -= step;
      step *= 2;
    }
    return bisect(std::max<std::int64_t>(high - step, 0), high, fits);
  }
  std::int64_t low = guess;
  while (low + step <= limit && fits(low + step)) {
    low += step;
    step *= 2;
  }
  return bisect(low, std::min(low + step, limit + 1), fits);
}

std::int64_t edge_near(std::int64_t guess, const std::function<double(std::int64_t)>& slack,
                       std::int64_t limit, const std::function<bool()>& spent,
                       const Bracket& known) {
  auto [low, high] = known;
  std::int64_t size = std::clamp<std::int64_t>(guess, 1, limit);
  std::int64_t step = std::max<std::int64_t>(size / kCoarse, 1);
  std::optional<Point> before;  // the end before this one, while the other end is not known
  int halves = 0;               // to be made before a line is tried again
  while (true) {
    if (low && low->size == limit) return limit;
    if (high && high->size == 1) return 0;
    const bool in_bracket = low && high;
    if (in_bracket) {
      if (high->size - low->size == 1 || spent()) return low->size;
      size = between(*low, *high, halves > 0);
    } else if (low || high) {
      const Point& end = low ? *low : *high;
      size = std::clamp<std::int64_t>(beyond(end, before, low ? step : -step), 1, limit);
      step = std::min(4 * step, limit);
      before = end;
    }
    const Point point{size, slack(size)};
    std::optional<Point>& end = point.slack >= 0 ? low : high;
    if (halves > 0) {
      --halves;
    } else if (in_bracket && std::abs(point.slack) > kNearer * std::abs(end->slack)) {
      halves = kHalves;
    }
    end = point;
  }
}

Largest largest_and_holes(std::int64_t limit, const Trials& trials) {
  if (limit < 1) return {};
  return SizeSearch(limit, trials)();
}

}  // namespace vramfit
