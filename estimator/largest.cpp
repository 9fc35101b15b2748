#include "estimator/largest.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>

#include "model/transformer/sizes.h"

namespace vramfit {
namespace {

using SetSize = void (*)(Request&, std::int64_t);

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

/// One request at many sizes.
class SizedRequest {
 public:
  SizedRequest(Request request, SetSize set_size, std::uint64_t allowance)
      : request_(std::move(request)),
        set_size_(set_size),
        samples_(request_.samples),
        allowance_(allowance) {}

  Largest largest(std::int64_t limit) {
    request_.samples =
        std::min(samples_, std::max(kTrialLayers / request_.model.layers, kTrialSamples));
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
    set_size_(request_, size);
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
    set_size_(request_, size);
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
  SetSize set_size_;
  std::int64_t samples_;
  std::uint64_t allowance_;
  std::uint64_t walked_ = 0;
  bool sampled_ = false;  ///< trials left decode steps out
  std::map<std::int64_t, Least> least_;
};

}  // namespace

Largest largest_batch(Request request, std::uint64_t allowance) {
  return SizedRequest(std::move(request), set_batch, allowance).largest(kMaxBatch);
}

Largest largest_seq(Request request, std::uint64_t allowance) {
  const std::int64_t limit = request.workload->seq_limit(request.model);
  return SizedRequest(std::move(request), set_seq, allowance).largest(limit);
}

}  // namespace vramfit
