#include "estimator/sized_runs.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "model/transformer/sizes.h"

namespace vramfit {
namespace {

/// Decode steps that a trial walks, times layers, and at least. What they find is then tried with
/// all that are asked for.
constexpr std::int64_t kTrialLayers = 1024;
constexpr std::int64_t kTrialSamples = 2;
/// What a trial may cost, about.
constexpr std::uint64_t kTrialCost = 150'000;
/// What so much larger a card does not hold is not near the answer.
constexpr std::uint64_t kFarAbove = 4;

double share(std::uint64_t bytes, std::uint64_t capacity) {
  return static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(capacity, 1));
}

}  // namespace

void set_size(Request& request, Size which, std::int64_t size) {
  (which == Size::Batch ? set_batch : set_seq)(request, size);
}

std::int64_t size_limit(const Request& request, Size which) {
  if (which == Size::Batch) return kMaxBatch;
  const std::int64_t limit = request.workload->seq_limit(request.model);
  if (request.beyond_positions || request.model.max_positions < 1) return limit;
  const std::int64_t generated = request.workload->positions() - request.workload->seq();
  return std::min(limit, request.model.max_positions - generated);
}

SizedRuns::SizedRuns(Request request, Size which, std::uint64_t allowance)
    : request_(std::move(request)),
      which_(which),
      limit_(size_limit(request_, which)),
      all_samples_(request_.samples),
      allowance_(allowance),
      samples_(
          std::min(all_samples_, std::max(kTrialLayers / request_.model.layers, kTrialSamples))) {}

const Request& SizedRuns::at(std::int64_t size) {
  set_size(request_, which_, size);
  request_.samples = samples_;
  return request_;
}

std::uint64_t SizedRuns::capacity_beside(const Overhead& overhead) const {
  return vramfit::capacity_beside(overhead, request_);
}

double SizedRuns::least(std::int64_t size) { return least_at(size).share; }

const SizedRuns::Least& SizedRuns::least_at(std::int64_t size) {
  const auto known = least_.find(size);
  if (known != least_.end()) return known->second;
  const auto& [model, workload, budget, samples, beyond_positions] = at(size);
  workload->validate(model);
  Extent extent;
  extent.micro_batches = extent.decodes = 2;
  extent.detail = {.samples = kTrialSamples, .events = false};
  const auto run_within_bytes = [&](std::uint64_t capacity) {
    Outcome run = request_.workload->run(gpu_of(request_.budget), capacity, request_.model, extent);
    cost_ += run.report.cost;
    return run;
  };
  Outcome run = run_within_bytes(kFarAbove * budget.vram);
  if (workload->depends_on_capacity()) {
    extent.beyond = kFarAbove * budget.vram;
    run = run_within_bytes(capacity_beside(run.overhead));
  }
  Least least{std::numeric_limits<double>::infinity(), run.overhead};
  // Of prefill and as many decode steps.
  const std::uint64_t step_cost = run.report.cost / (kTrialSamples + 1) + 1;
  samples_ = std::min(samples_,
                      std::max(static_cast<std::int64_t>(kTrialCost / step_cost), kTrialSamples));
  if (!run.report.missing) {
    least.share = share(run.report.peak.allocated, capacity_beside(run.overhead));
  }
  return least_.emplace(size, least).first->second;
}

/// What of the card is gone beside a run of this size. It depends on which libraries a run uses, so
/// where the sizes around agree, this one does too.
const Overhead& SizedRuns::overhead_at(std::int64_t size) {
  const auto above = least_.lower_bound(size);
  if (above == least_.end() || above == least_.begin()) return least_at(size).overhead;
  const Overhead& larger = above->second.overhead;
  const Overhead& smaller = std::prev(above)->second.overhead;
  return larger.total() == smaller.total() ? larger : least_at(size).overhead;
}

Outcome SizedRuns::run_on_card(std::int64_t size, std::int64_t samples) {
  const std::uint64_t capacity = capacity_beside(overhead_at(size));
  at(size);
  request_.samples = samples;
  last_cost_ = 0;
  const auto run = [&](std::uint64_t bytes) {
    Outcome outcome = run_within(bytes, request_);
    cost_ += outcome.report.cost;
    last_cost_ += outcome.report.cost + 1;
    return outcome;
  };
  if (request_.workload->adapts_to_capacity()) {
    Outcome unlimited = run(kUnlimitedBytes);
    if (unlimited.report.reserved <= capacity) return unlimited;
  }
  return run(capacity);
}

Trial SizedRuns::run(std::int64_t size) {
  const Outcome outcome = run_on_card(size, at(size).samples);
  sampled_ = sampled_ || outcome.sampled;
  const bool fits = !outcome.report.missing;
  tried_.insert(size);
  if (fits && has_verdicts()) slack_[size] = slack_of(outcome);
  return {fits, share(outcome.report.reserved, capacity_beside(overhead_at(size)))};
}

bool SizedRuns::fits_whole(std::int64_t size) {
  return !run_on_card(size, all_samples_).report.missing;
}

bool SizedRuns::has_verdicts() const {
  return request_.workload->runtime().reserved_error().has_value();
}

Slack SizedRuns::slack_of(const Outcome& run) const {
  const auto uncertainty =
      uncertainty_of(request_.workload->runtime(), run.report.reserved, run.overhead);
  const double margin = static_cast<double>(request_.budget.vram) -
                        static_cast<double>(request_.budget.set_aside()) -
                        static_cast<double>(run.report.reserved + run.overhead.total());
  const auto off = static_cast<double>(uncertainty->total());
  // A margin of as much is still within it.
  return {margin - off - 1, margin + off};
}

// Of the run on the card where that completes, otherwise of one without limits.
Slack SizedRuns::slack(std::int64_t size) {
  if (tried_.count(size) == 0) run(size);
  return slack_unlimited(size);
}

Slack SizedRuns::slack_unlimited(std::int64_t size) {
  const auto known = slack_.find(size);
  if (known != slack_.end()) return known->second;
  const bool looks = request_.workload->depends_on_capacity();
  const std::uint64_t capacity = looks ? capacity_beside(overhead_at(size)) : 0;
  const Request& request = at(size);
  return slack_[size] =
             slack_of(looks ? run_past(capacity, request) : run_within(kUnlimitedBytes, request));
}

std::int64_t SizedRuns::largest_known(double Slack::*slack, std::int64_t most) const {
  for (auto at = slack_.upper_bound(most); at != slack_.begin();) {
    if ((--at)->second.*slack >= 0) return at->first;
  }
  return 0;
}

}  // namespace vramfit
