#include "estimator/steady_run.h"

#include <algorithm>
#include <stdexcept>

namespace vramfit {
namespace {

/// Each repetition that is not yet final maps at least one granule more, so few are needed, unless
/// an allocator at its limit gives back and takes again for ever.
constexpr std::int64_t kMostRepetitions = 64;
constexpr int kMostSteps = 24;

/// What was reserved each time that `stage` of `step` ended.
std::vector<std::uint64_t> reserved_after(const RunReport& report, Stage stage, int step) {
  std::vector<std::uint64_t> reserved;
  for (const StageRecord& record : report.stages) {
    if (record.stage == stage && record.step == step) reserved.push_back(record.reserved);
  }
  return reserved;
}

/// Whether the last of at least two entries is what the one before it is.
bool settled(const std::vector<std::uint64_t>& reserved) {
  return reserved.size() >= 2 && reserved.back() == reserved[reserved.size() - 2];
}

/// The step in which most was reserved first.
int most_reserved_step(const RunReport& report) {
  const auto most = std::max_element(
      report.stages.begin(), report.stages.end(),
      [](const auto& a, const auto& b) { return a.peak_reserved < b.peak_reserved; });
  return most->step;
}

/// The first step from the third on that took nothing more, and from which on no new peak is
/// reached; 0: none of `steps`.
int first_settled_step(const RunReport& report, int steps) {
  const int after_peaks = std::max(report.peak.step, most_reserved_step(report)) + 1;
  for (int step = std::max(3, after_peaks); step <= steps; ++step) {
    const auto before = reserved_after(report, Stage::ZeroGrad, step - 1);
    const auto after = reserved_after(report, Stage::ZeroGrad, step);
    if (before == after) return step;
  }
  return 0;
}

bool micro_batches_settled(const RunReport& report, int steps) {
  for (int step = 1; step <= steps; ++step) {
    if (!settled(reserved_after(report, Stage::Backward, step))) return false;
  }
  return true;
}

/// Forgets the steps that only showed that nothing changes any more.
void drop_steps_from(RunReport& report, int step) {
  const auto in_step = [step](const auto& entry) { return entry.step >= step; };
  auto& stages = report.stages;
  stages.erase(std::remove_if(stages.begin(), stages.end(), in_step), stages.end());
  auto& events = report.events;
  events.erase(std::remove_if(events.begin(), events.end(), in_step), events.end());
  auto& segments = report.segments;
  const auto beyond = [&](const SegmentChange& change) { return change.event >= events.size(); };
  segments.erase(std::find_if(segments.begin(), segments.end(), beyond), segments.end());
}

/// Walks of one workload, and what all of them together cost.
struct Run {
  const Workload& workload;
  const Gpu& gpu;
  std::uint64_t capacity;
  const ModelConfig& config;

  std::uint64_t allocations = 0;

  Outcome operator()(const Extent& extent) {
    Outcome outcome = workload.run(gpu, capacity, config, extent);
    outcome.report.allocations = allocations += outcome.report.allocations;
    return outcome;
  }
};

Outcome steady_training(Run& run, Extent extent) {
  const std::int64_t all = run.workload.micro_batches();
  extent.micro_batches = std::min<std::int64_t>(all, 3);
  extent.steps = 3;
  while (extent.micro_batches <= kMostRepetitions) {
    Outcome outcome = run(extent);
    RunReport& report = outcome.report;
    // A run with fewer steps than it was asked for has none that repeat.
    if (report.missing || report.stages.back().step < extent.steps) return outcome;
    if (extent.micro_batches < all && !micro_batches_settled(report, extent.steps)) {
      extent.micro_batches = std::min(extent.micro_batches + 2, all);
    } else if (const int step = first_settled_step(report, extent.steps); step > 0) {
      drop_steps_from(report, step);
      return outcome;
    } else if (extent.steps == kMostSteps) {
      outcome.notes.push_back("what is reserved changes from step to step: " +
                              std::to_string(kMostSteps) + " steps were walked");
      return outcome;
    } else {
      extent.steps *= 2;
    }
  }
  throw std::logic_error("steady_run: micro-batches keep mapping more");
}

Outcome steady_generation(Run& run, Extent extent) {
  for (extent.decodes = 2; extent.decodes <= kMostRepetitions; ++extent.decodes) {
    Outcome outcome = run(extent);
    const RunReport& report = outcome.report;
    if (report.missing || outcome.all_decodes) return outcome;
    if (settled(reserved_after(report, Stage::Decode, 1))) return outcome;
  }
  throw std::logic_error("steady_run: decode steps keep mapping more");
}

}  // namespace

Outcome steady_run(const Workload& workload, const Gpu& gpu, std::uint64_t capacity,
                   const ModelConfig& config, const Detail& detail) {
  workload.validate(config);
  Run run{workload, gpu, capacity, config};
  Extent extent;
  extent.detail = detail;
  return workload.training() ? steady_training(run, extent) : steady_generation(run, extent);
}

}  // namespace vramfit
