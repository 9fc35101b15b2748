#include "estimator/sized_runs.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace vramfit {
namespace {

/// Decode steps of a run that only tells what tensors take.
constexpr std::int64_t kFewSamples = 2;
/// Decode steps times layers, and what a run may cost, of which many can be tried.
constexpr std::int64_t kManyLayers = 1024;
constexpr std::uint64_t kMuchCost = 150'000;
/// What so much larger a card does not hold is not near the answer.
constexpr std::uint64_t kFarAbove = 4;

double share(std::uint64_t bytes, std::uint64_t capacity) {
  return static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(capacity, 1));
}

}  // namespace

std::int64_t size_limit(const Request& request, const SearchAxis& axis) {
  const std::int64_t limit = request.workload->limit(axis, request.model);
  const bool bounded = axis.of_positions && !request.beyond_positions;
  if (!bounded || request.model.max_positions < 1) return limit;
  const std::int64_t positions = request.model.max_positions * request.workload->sequences_of(axis);
  return std::min(limit, positions - request.workload->decodes());
}

SizedRuns::SizedRuns(Request request, const SearchAxis& axis, std::uint64_t allowance)
    : request_(std::move(request)),
      axis_(axis),
      limit_(size_limit(request_, axis)),
      allowance_(allowance) {}

bool SizedRuns::are_long() {
  const std::int64_t decodes = request_.workload->decodes();
  if (limit_ < 1 || decodes <= kFewSamples || !least_at(1).sampled) return false;
  return decodes * request_.model.layers > kManyLayers ||
         static_cast<std::uint64_t>(decodes) * least_at(1).step_cost > kMuchCost;
}

const Request& SizedRuns::at(std::int64_t size) {
  set_size(request_, axis_, size);
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
  extent.detail = {.samples = kFewSamples, .events = false};
  const auto run_within_bytes = [&](std::uint64_t capacity) {
    Outcome run = request_.workload->run(gpu_of(request_.budget), capacity, request_.model, extent);
    cost_ += run.report.cost;
    return run;
  };
  // Of an elastic run one on a larger card is another, and may run out where this one does not.
  const bool elastic = workload->demand() == Demand::Elastic;
  Outcome run = run_within_bytes(elastic ? kUnlimitedBytes : kFarAbove * budget.vram);
  const Overhead overhead = run.overhead;  // as an estimate has it: of the run that has room
  if (elastic) {
    extent.extra_capacity = kFarAbove * budget.vram;
    run = run_within_bytes(capacity_beside(overhead));
  }
  Least least{std::numeric_limits<double>::infinity(), overhead,
              run.report.cost / (kFewSamples + 1), run.sampled};
  if (!run.report.missing) {
    least.share = share(run.report.peak.allocated, capacity_beside(overhead));
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

Outcome SizedRuns::run_in(std::uint64_t bytes, std::int64_t size) {
  Outcome outcome = run_within(bytes, at(size));
  cost_ += outcome.report.cost;
  return outcome;
}

// Where a run within limits is another, the one that is told of is the one without, if there is
// room for that; otherwise the one within, and where that does not complete the one without again.
const Trial& SizedRuns::run(std::int64_t size) {
  const auto [entry, fresh] = tried_.try_emplace(size);
  Trial& told = entry->second;  // clang 14 takes no structured binding into a lambda
  if (!fresh) return told;
  const std::uint64_t capacity = capacity_beside(overhead_at(size));
  const auto of = [&](const Outcome& outcome) -> const Trial& {
    const bool fits = !outcome.report.missing;
    if (fits && has_verdicts()) slack_[size] = slack_of(outcome);
    return told = {fits, share(outcome.report.reserved, capacity)};
  };
  if (request_.workload->demand() != Demand::Adapting) return of(run_in(capacity, size));
  const Outcome unlimited = run_in(kUnlimitedBytes, size);
  const Trial& trial = of(unlimited);
  return unlimited.report.reserved <= capacity ? trial : of(run_in(capacity, size));
}

bool SizedRuns::has_verdicts() const { return request_.workload->reserved_error().has_value(); }

Slack SizedRuns::slack_of(const Outcome& run) const {
  const auto uncertainty = uncertainty_of(*request_.workload, run);
  const Budget& budget = request_.budget.at(run.card);
  const double margin = static_cast<double>(budget.vram) - static_cast<double>(budget.set_aside()) -
                        static_cast<double>(run.report.reserved + run.overhead.total());
  // A margin of as much is still within it.
  return {margin - static_cast<double>(uncertainty->against(true)) - 1, margin,
          margin + static_cast<double>(uncertainty->against(false))};
}

// Of the run on the card where that completes, otherwise of one without limits.
const Slack& SizedRuns::slack(std::int64_t size) {
  const bool by_one_run = step() > 0 && request_.workload->demand() == Demand::Fixed;
  if (!by_one_run) run(size);
  const auto known = slack_.find(size);
  if (known != slack_.end()) return known->second;
  if (request_.workload->demand() != Demand::Elastic) {
    return slack_[size] = slack_of(run_in(kUnlimitedBytes, size));
  }
  const Outcome past = run_past(capacity_beside(overhead_at(size)), at(size));
  cost_ += past.report.cost;
  return slack_[size] = slack_of(past);
}

Bracket SizedRuns::known(double Slack::*slack, std::int64_t most) const {
  Bracket known;
  for (auto at = slack_.upper_bound(most); at != slack_.begin() && !known.low;) {
    --at;
    const Point point{at->first, at->second.*slack};
    (point.slack >= 0 ? known.low : known.high) = point;
  }
  return known;
}

}  // namespace vramfit
