#include "estimator/steady_run.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <stdexcept>

namespace vramfit {
namespace {

/// Each repetition that is not yet final maps at least one granule more, so few are needed, unless
/// an allocator at its limit gives back and takes again for ever.
constexpr std::int64_t kMostRepetitions = 64;
constexpr int kMostSteps = 24;
/// Whether steps repeat is looked at after so many, twice as many, and so on.
constexpr int kFirstLook = 3;

using Stages = std::vector<StageRecord>;

/// What was reserved each time that `stage` of `step` ended.
std::vector<std::uint64_t> reserved_after(const Stages& stages, Stage stage, int step) {
  std::vector<std::uint64_t> reserved;
  for (const StageRecord& record : stages) {
    if (record.stage == stage && record.step == step) reserved.push_back(record.reserved);
  }
  return reserved;
}

/// Whether the last `period` entries are what those before them are.
bool settled(const std::vector<std::uint64_t>& reserved, std::ptrdiff_t period = 1) {
  return std::ssize(reserved) >= 2 * period &&
         std::equal(reserved.end() - period, reserved.end(), reserved.end() - 2 * period);
}

/// The step in which most was reserved first.
int most_reserved_step(const Stages& stages) {
  const auto most = std::max_element(
      stages.begin(), stages.end(),
      [](const auto& a, const auto& b) { return a.peak_reserved < b.peak_reserved; });
  return most->step;
}

/// The first step from the third on that took nothing more, and from which on no new peak is
/// reached; 0: none.
int first_settled_step(const Stages& stages, const MemoryUse& peak) {
  const int after_peaks = std::max(peak.step, most_reserved_step(stages)) + 1;
  for (int step = std::max(3, after_peaks); step <= stages.back().step; ++step) {
    const auto before = reserved_after(stages, Stage::ZeroGrad, step - 1);
    const auto after = reserved_after(stages, Stage::ZeroGrad, step);
    if (before == after) return step;
  }
  return 0;
}

/// Whether what follows in each step would be like what was walked. An allocator at its limit may
/// give back in one what it takes again in the next: then those two repeat, and pairs are left out.
bool micro_batches_settled(const Stages& stages, std::int64_t left_out) {
  for (int step = 1; step <= stages.back().step; ++step) {
    const auto reserved = reserved_after(stages, Stage::Backward, step);
    if (!settled(reserved) && !(left_out % 2 == 0 && settled(reserved, 2))) return false;
  }
  return true;
}

/// How many to walk where `walked` of `all` were too few: what is left out comes in pairs. The more
/// did not do, the more are added, so that all tries together cost a few times the last.
std::int64_t more_micro_batches(std::int64_t walked, std::int64_t all) {
  if ((all - walked) % 2 != 0) return walked + 1;
  return std::min(all, walked + 2 * std::max<std::int64_t>(1, walked / 4));
}

/// Forgets the steps that only showed that nothing changes any more.
void drop_steps_from(RunReport& report, int step) {
  const auto in_step = [step](const auto& entry) { return entry.step >= step; };
  auto& stages = report.stages;
  stages.erase(std::remove_if(stages.begin(), stages.end(), in_step), stages.end());
  auto& events = report.events;
  events.erase(std::remove_if(events.begin(), events.end(), in_step), events.end());
  std::erase_if(report.host.events, in_step);
  auto& segments = report.segments;
  const auto beyond = [&](const SegmentChange& change) { return change.event >= events.size(); };
  segments.erase(std::find_if(segments.begin(), segments.end(), beyond), segments.end());
}

/// Walks of one workload, and what all of them together cost.
struct Walks {
  const Workload& workload;
  const Gpu& gpu;
  std::uint64_t capacity;
  const ModelConfig& config;

  std::uint64_t cost = 0;

  Outcome operator()(const Extent& extent) {
    Outcome outcome = workload.run(gpu, capacity, config, extent);
    outcome.report.cost = cost += outcome.report.cost;
    return outcome;
  }
};

Outcome steady_training(Walks& run, Extent extent) {
  const std::int64_t all = run.workload.micro_batches();
  int look = kFirstLook;
  extent.steps = kMostSteps;
  for (extent.micro_batches = std::min<std::int64_t>(all, 3);
       extent.micro_batches <= kMostRepetitions;
       extent.micro_batches = more_micro_batches(extent.micro_batches, all)) {
    const auto too_few_micro_batches = [&](const Stages& stages) {
      const std::int64_t left_out = all - extent.micro_batches;
      return left_out > 0 && !micro_batches_settled(stages, left_out);
    };
    extent.stop_when = [&](const Ledger& ledger) {
      const Stages& stages = ledger.stages();
      if (too_few_micro_batches(stages)) return true;
      if (stages.back().step < look) return false;
      if (first_settled_step(stages, ledger.peak()) > 0) return true;
      look *= 2;
      return false;
    };
    Outcome outcome = run(extent);
    RunReport& report = outcome.report;
    if (report.missing) return outcome;
    if (too_few_micro_batches(report.stages)) continue;
    if (const int step = first_settled_step(report.stages, report.peak); step > 0) {
      drop_steps_from(report, step);
    } else if (report.stages.back().step == kMostSteps) {
      outcome.notes.push_back("what is reserved changes from step to step: " +
                              std::to_string(kMostSteps) + " steps were walked");
    }
    return outcome;
  }
  throw std::logic_error("steady_run: micro-batches keep mapping more");
}

Outcome steady_generation(Walks& run, Extent extent) {
  for (extent.decodes = 2; extent.decodes <= kMostRepetitions; ++extent.decodes) {
    Outcome outcome = run(extent);
    const RunReport& report = outcome.report;
    if (report.missing || outcome.all_decodes) return outcome;
    if (settled(reserved_after(report.stages, Stage::Decode, 1))) return outcome;
  }
  throw std::logic_error("steady_run: decode steps keep mapping more");
}

}  // namespace

Outcome steady_run(const Workload& workload, const Gpu& gpu, std::uint64_t capacity,
                   const ModelConfig& config, const Detail& detail, std::uint64_t extra_capacity) {
  workload.validate(config);
  Walks run{workload, gpu, capacity, config};
  Extent extent;
  extent.detail = detail;
  extent.extra_capacity = extra_capacity;
  return workload.training() ? steady_training(run, extent) : steady_generation(run, extent);
}

}  // namespace vramfit
