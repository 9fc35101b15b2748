#include "estimator/largest.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

#include "model/transformer/sizes.h"

namespace vramfit {
namespace {

/// Decode steps that a trial walks, times layers, and at least. What they find is then tried with
/// all that are asked for.
constexpr std::int64_t kTrialLayers = 1024;
constexpr std::int64_t kTrialSamples = 8;
/// Steps from 1 to an answer that was found so.
constexpr std::int64_t kSteps = 64;
/// What so much larger a card does not hold is not near the answer.
constexpr std::uint64_t kFarAbove = 4;

double share(std::uint64_t bytes, std::uint64_t capacity) {
  return static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(capacity, 1));
}

/// Steps from 1 to an answer around which others are tried.
constexpr std::int64_t kBandSteps = 64;

std::int64_t size_limit(const Request& request, Size which) {
  if (which == Size::Batch) return kMaxBatch;
  const std::int64_t limit = request.workload->seq_limit(request.model);
  if (request.beyond_positions || request.model.max_positions < 1) return limit;
  const std::int64_t generated = request.workload->positions() - request.workload->seq();
  return std::min(limit, request.model.max_positions - generated);
}

std::int64_t trial_samples(const Request& request) {
  return std::min(request.samples, std::max(kTrialLayers / request.model.layers, kTrialSamples));
}

/// What is left of the card beside a run that has all it likes, where figures are off to the worse
/// side, and where they are off to the better one. Bytes.
struct Slack {
  double surely = 0;
  double possibly = 0;
};

Slack slack_of(const Request& request) {
  const Outcome run = run_within(kUnlimitedBytes, request);
  const auto uncertainty =
      uncertainty_of(request.workload->runtime(), run.report.reserved, run.overhead);
  const double margin = static_cast<double>(request.budget.vram) -
                        static_cast<double>(request.budget.set_aside()) -
                        static_cast<double>(run.report.reserved + run.overhead.total());
  const auto off = static_cast<double>(uncertainty->total());
  // A margin of as much is still within it.
  return {margin - off - 1, margin + off};
}

/// One request at many sizes.
class SizedRequest {
 public:
  SizedRequest(Request request, Size which, std::uint64_t allowance)
      : request_(std::move(request)),
        which_(which),
        samples_(request_.samples),
        allowance_(allowance) {}

  Largest largest(std::int64_t limit) {
    request_.samples = trial_samples(request_);
    Trials trials;
    trials.least = [this](std::int64_t size) { return least_at(size).share; };
    trials.run = [this](std::int64_t size) { return run(size); };
    trials.spent = [this] { return walked_ > allowance_; };
    Largest found = largest_and_holes(limit, trials);
    if (found.size > 0 && sampled_) confirm(found, limit);
    return found;
  }

 private:
  struct Least {
    double share;  ///< that tensors take of what the card has; infinite where that is far too much
    Overhead overhead;
  };

  const Least& least_at(std::int64_t size) {
    const auto known = least_.find(size);
    if (known != least_.end()) return known->second;
    set_size(request_, which_, size);
    request_.workload->validate(request_.model);
    Extent extent;
    extent.micro_batches = extent.decodes = 2;
    extent.detail = {.samples = 2, .events = false};
    const Outcome run = request_.workload->run(
        gpu_of(request_.budget), kFarAbove * request_.budget.vram, request_.model, extent);
    walked_ += run.report.allocations;
    Least least{std::numeric_limits<double>::infinity(), run.overhead};
    if (!run.report.missing) {
      least.share = share(run.report.peak.allocated, capacity_beside(run.overhead, request_));
    }
    return least_.emplace(size, least).first->second;
  }

  /// What of the card is gone beside a run of this size. It depends on which libraries a run uses,
  /// so where the sizes around agree, this one does too.
  Overhead overhead_at(std::int64_t size) {
    const auto above = least_.lower_bound(size);
    if (above == least_.end() || above == least_.begin()) return least_at(size).overhead;
    const Overhead& larger = above->second.overhead;
    const Overhead& smaller = std::prev(above)->second.overhead;
    return larger.total() == smaller.total() ? larger : least_at(size).overhead;
  }

  Trial run(std::int64_t size) {
    const std::uint64_t capacity = capacity_beside(overhead_at(size), request_);
    set_size(request_, which_, size);
    const Outcome outcome = run_within(capacity, request_);
    walked_ += outcome.report.allocations;
    sampled_ = sampled_ || outcome.sampled;
    return {!outcome.report.missing, share(outcome.report.reserved, capacity)};
  }

  /// Goes on from the answer with all the decode steps that are asked for. Those of a trial left
  /// other gaps, so sizes well above it are tried too, and the answer is as good as its steps.
  void confirm(Largest& found, std::int64_t limit) {
    request_.samples = samples_;
    const std::int64_t step = std::max<std::int64_t>(found.size / kSteps, 1);
    const std::int64_t offset = found.size % step;
    const auto fits_whole = [&](std::int64_t steps) { return run(offset + steps * step).fits; };
    const std::int64_t most = (limit - offset) / step;
    std::int64_t from = found.size / step;
    for (std::int64_t above = 1; above <= from / 4 && walked_ <= allowance_; above *= 2) {
      const std::int64_t steps = found.size / step + above;
      if (steps <= most && fits_whole(steps)) from = steps;
    }
    found.size = offset + largest_near(from, fits_whole, most) * step;
    if (found.size < limit && found.size + step > limit && run(limit).fits) found.size = limit;
    found.next = found.size < limit ? std::min(found.size + step, limit) : 0;
    // Sizes beside it were not tried with all.
    found.step = std::max<std::int64_t>({found.step, step, 2});
    found.holes.reset();
  }

  Request request_;
  Size which_;
  std::int64_t samples_;
  std::uint64_t allowance_;
  std::uint64_t walked_ = 0;
  bool sampled_ = false;  ///< trials left decode steps out
  std::map<std::int64_t, Least> least_;
};

}  // namespace

void set_size(Request& request, Size which, std::int64_t size) {
  (which == Size::Batch ? set_batch : set_seq)(request, size);
}

Largest find_largest(Request request, Size which, std::uint64_t allowance) {
  const std::int64_t limit = size_limit(request, which);
  return SizedRequest(std::move(request), which, allowance).largest(limit);
}

Band band_around(const Largest& found, Request request, Size which) {
  if (!request.workload->runtime().reserved_error()) return {found.size, found.size};
  const std::int64_t limit = size_limit(request, which);
  request.samples = trial_samples(request);
  const std::int64_t step = std::max<std::int64_t>(found.size / kBandSteps, 1);
  std::map<std::int64_t, Slack> known;
  const auto slack_at = [&](std::int64_t steps) {
    const auto [slack, fresh] = known.try_emplace(steps);
    if (fresh) {
      set_size(request, which, steps * step);
      slack->second = slack_of(request);
    }
    return slack->second;
  };
  const auto largest_with = [&](double Slack::*slack) {
    const auto holds = [&](std::int64_t steps) { return slack_at(steps).*slack >= 0; };
    const std::int64_t from = std::max<std::int64_t>(found.size / step, 1);
    const std::int64_t half = std::max<std::int64_t>(from / 2, 1);
    // What is needed grows with the size in a line, nearly.
    const double each = (slack_at(half).*slack - slack_at(from).*slack) /
                        static_cast<double>(std::max<std::int64_t>(from - half, 1));
    const double ahead = each > 0 ? slack_at(from).*slack / each : 0;
    const auto guess = from + std::llround(std::clamp(ahead, -1.0 * static_cast<double>(from),
                                                      1.0 * static_cast<double>(from)));
    return largest_near(guess, holds, limit / step) * step;
  };
  return {std::min(largest_with(&Slack::surely), found.size),
          std::max(largest_with(&Slack::possibly), found.size)};
}

}  // namespace vramfit
