#include "estimator/largest.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace vramfit {
namespace {

/// Steps from 1 to an answer of a long generation, and to those of a band.
constexpr std::int64_t kSteps = 64;
/// The same where no run of all of it may be afforded; twice as many for each that may.
constexpr std::int64_t kFewestSteps = 4;
constexpr std::uint64_t kEnoughRuns = 4;
static_assert(kFewestSteps << kEnoughRuns == kSteps);
/// Of a search among them, about.
constexpr std::uint64_t kRunsOfASearch = 4;

std::int64_t step_at(std::int64_t size, std::int64_t steps) {
  return std::max<std::int64_t>(size / steps, 1);
}

/// Goes on from the answer with all the decode steps that are asked for. Those of a trial left
/// other gaps, so sizes well above it are tried too, and the answer is as good as its steps.
void confirm(Largest& found, SizedRuns& runs) {
  const std::int64_t limit = runs.limit();
  const bool fits_whole = runs.fits_whole(found.size);
  const std::uint64_t affordable = std::min(runs.affordable(), kEnoughRuns);
  const std::int64_t step = step_at(found.size, kFewestSteps << affordable);
  const std::int64_t offset = found.size % step;
  const auto fits = [&](std::int64_t steps) {
    const std::int64_t size = offset + steps * step;
    return size == found.size ? fits_whole : runs.fits_whole(size);
  };
  const std::int64_t most = (limit - offset) / step;
  std::int64_t from = found.size / step;
  for (std::int64_t above = 1; above <= from / 4 && affordable == kEnoughRuns && !runs.spent();
       above *= 2) {
    const std::int64_t steps = found.size / step + above;
    if (steps <= most && fits(steps)) from = steps;
  }
  const std::int64_t steps = largest_near(from, fits, most);
  found.size = steps > 0 || (offset > 0 && fits(0)) ? offset + steps * step : 0;
  if (found.size < limit && found.size + step > limit && runs.fits_whole(limit)) {
    found.size = limit;
  }
  found.next = found.size < limit ? std::min(found.size + step, limit) : 0;
  // Sizes beside it were not tried with all.
  found.step = std::max<std::int64_t>({found.step, step, 2});
  found.from.reset();
  found.holes.reset();
}

/// The largest size that leaves some slack.
class SlackSearch {
 public:
  using SlackAt = std::function<double(std::int64_t)>;
  SlackSearch(SizedRuns& runs, SlackAt slack_at) : runs_(runs), at_(std::move(slack_at)) {}

  /// Near `from`, in steps of a part of the answer.
  std::int64_t operator()(std::int64_t from) {
    const std::int64_t limit = runs_.limit();
    if (from == limit && leaves(from)) return from;
    std::int64_t size = guess(std::max<std::int64_t>(from, 1));
    const std::int64_t steps = kFewestSteps
                               << std::min(runs_.affordable() / kRunsOfASearch, kEnoughRuns);
    for (std::int64_t step = step_at(size, steps);; step = step_at(size, steps)) {
      const auto holds = [&](std::int64_t n) { return leaves(n * step); };
      size = largest_near(size / step, holds, limit / step) * step;
      if (size == 0) size = smallest(step);
      if (step_at(size, steps) >= step) break;
    }
    return from > size && leaves(from) ? from : size;
  }

 private:
  bool leaves(std::int64_t size) { return at_(size) >= 0; }

  /// What is needed grows with the size in a line, nearly.
  std::int64_t guess(std::int64_t from) {
    const std::int64_t half = std::max<std::int64_t>(from / 2, 1);
    const double each =
        (at_(half) - at_(from)) / static_cast<double>(std::max<std::int64_t>(from - half, 1));
    if (each <= 0) return from;
    const auto most = static_cast<double>(from);
    const auto ahead = std::llround(std::clamp(at_(from) / each, -most, most));
    return std::clamp<std::int64_t>(from + ahead, 1, runs_.limit());
  }

  /// A power of two below `step` that leaves some where larger ones do not: the smallest sizes may
  /// take another path.
  std::int64_t smallest(std::int64_t step) {
    for (std::int64_t size = 8; size > 0; size /= 2) {
      if (size <= std::min(std::max<std::int64_t>(step, 8), runs_.limit()) && leaves(size)) {
        return size;
      }
    }
    return 0;
  }

  SizedRuns& runs_;
  SlackAt at_;
};

/// Where all sizes below the largest were tried until none is a hole any more, those were that
/// tell.
std::int64_t largest_surely(const Largest& found, SizedRuns& runs) {
  const std::int64_t known = runs.largest_known(&Slack::surely, found.size);
  if (known > 0 && (known == found.size || found.holes)) return known;
  const auto slack = [&](std::int64_t size) { return runs.slack(size).surely; };
  return std::max(known, SlackSearch(runs, slack)(found.size));
}

/// What does not fit may all the same, if a run without limits takes little more than there is.
std::int64_t largest_possibly(const Largest& found, SizedRuns& runs) {
  const auto slack = [&](std::int64_t size) { return runs.slack_unlimited(size).possibly; };
  return SlackSearch(runs, slack)(found.size);
}

}  // namespace

Largest find_largest(SizedRuns& runs) {
  Trials trials;
  trials.least = [&](std::int64_t size) { return runs.least(size); };
  trials.run = [&](std::int64_t size) { return runs.run(size); };
  trials.spent = [&] { return runs.spent(); };
  Largest found = largest_and_holes(runs.limit(), trials);
  if (found.size > 0 && runs.sampled()) confirm(found, runs);
  return found;
}

Largest find_largest(Request request, Size which, std::uint64_t allowance) {
  SizedRuns runs(std::move(request), which, allowance);
  return find_largest(runs);
}

Band band_around(const Largest& found, SizedRuns& runs) {
  if (!runs.has_verdicts()) return {found.size, found.size};
  return {std::min(largest_surely(found, runs), found.size),
          std::max(largest_possibly(found, runs), found.size)};
}

}  // namespace vramfit
