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
constexpr std::int64_t kTrialSamples = 2;
/// Steps from 1 to an answer that was found so, and to those of its band.
constexpr std::int64_t kSteps = 64;

std::int64_t step_at(std::int64_t size) { return std::max<std::int64_t>(size / kSteps, 1); }
/// What so much larger a card does not hold is not near the answer.
constexpr std::uint64_t kFarAbove = 4;

double share(std::uint64_t bytes, std::uint64_t capacity) {
  return static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(capacity, 1));
}

std::int64_t trial_samples(const Request& request) {
  return std::min(request.samples, std::max(kTrialLayers / request.model.layers, kTrialSamples));
}

/// What is left of the card beside a run where figures are off to the worse side, and where they
/// are off to the better one. Bytes; where there are any, it surely fits, or may.
struct Slack {
  double surely = 0;
  double possibly = 0;
};

Slack slack_of(const Request& request) {
  const Estimate run = estimate(request);
  const auto margin = static_cast<double>(run.margin);
  const auto off = static_cast<double>(run.uncertainty->total());
  // A margin of as much is still within it.
  return {margin - off - 1, margin + off};
}

/// The largest sizes that leave some slack.
class SlackSearch {
 public:
  SlackSearch(Request request, Size which)
      : request_(std::move(request)), which_(which), limit_(size_limit(request_, which)) {}

  /// Near `from`, in steps of a part of the answer.
  std::int64_t largest(double Slack::*slack, std::int64_t from) {
    const auto leaves = [&](std::int64_t size) { return at(size).*slack >= 0; };
    if (from == limit_ && leaves(from)) return from;
    std::int64_t size = guess(slack, std::max<std::int64_t>(from, 1));
    for (std::int64_t step = step_at(size);; step = step_at(size)) {
      const auto holds = [&](std::int64_t steps) { return leaves(steps * step); };
      size = largest_near(size / step, holds, limit_ / step) * step;
      if (size == 0) size = smallest(leaves, step);
      if (step_at(size) >= step) break;
    }
    return from > size && leaves(from) ? from : size;
  }

 private:
  const Slack& at(std::int64_t size) {
    const auto [slack, fresh] = known_.try_emplace(size);
    if (fresh) {
      set_size(request_, which_, size);
      slack->second = slack_of(request_);
    }
    return slack->second;
  }

  /// What is needed grows with the size in a line, nearly.
  std::int64_t guess(double Slack::*slack, std::int64_t from) {
    const std::int64_t half = std::max<std::int64_t>(from / 2, 1);
    const double each = (at(half).*slack - at(from).*slack) /
                        static_cast<double>(std::max<std::int64_t>(from - half, 1));
    if (each <= 0) return from;
    const auto most = static_cast<double>(from);
    const auto ahead = std::llround(std::clamp(at(from).*slack / each, -most, most));
    return std::clamp<std::int64_t>(from + ahead, 1, limit_);
  }

  /// A power of two below `step` that leaves some where larger ones do not: the smallest sizes may
  /// take another path.
  template <typename Leaves>
  std::int64_t smallest(const Leaves& leaves, std::int64_t step) {
    for (std::int64_t size = 8; size > 0; size /= 2) {
      if (size <= std::min(std::max<std::int64_t>(step, 8), limit_) && leaves(size)) return size;
    }
    return 0;
  }

  Request request_;
  Size which_;
  std::int64_t limit_;
  std::map<std::int64_t, Slack> known_;
};

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
    const auto run_within_bytes = [&](std::uint64_t capacity) {
      Outcome run =
          request_.workload->run(gpu_of(request_.budget), capacity, request_.model, extent);
      walked_ += run.report.allocations;
      return run;
    };
    Outcome run = run_within_bytes(kFarAbove * request_.budget.vram);
    if (request_.workload->depends_on_capacity()) {
      extent.beyond = kFarAbove * request_.budget.vram;
      run = run_within_bytes(capacity_beside(run.overhead, request_));
    }
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
    const std::int64_t step = step_at(found.size);
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

std::int64_t size_limit(const Request& request, Size which) {
  if (which == Size::Batch) return kMaxBatch;
  const std::int64_t limit = request.workload->seq_limit(request.model);
  if (request.beyond_positions || request.model.max_positions < 1) return limit;
  const std::int64_t generated = request.workload->positions() - request.workload->seq();
  return std::min(limit, request.model.max_positions - generated);
}

Band band_around(const Largest& found, Request request, Size which) {
  if (!request.workload->runtime().reserved_error()) return {found.size, found.size};
  request.samples = trial_samples(request);
  SlackSearch search(request, which);
  Band band;
  band.surely = search.largest(&Slack::surely, found.size);
  band.possibly = std::max(search.largest(&Slack::possibly, found.size), found.size);
  band.surely = std::min(band.surely, found.size);
  return band;
}

}  // namespace vramfit
