#include "estimator/steady_run.h"

#include <algorithm>
#include <stdexcept>

#include "model/transformer/sizes.h"

namespace vramfit {
namespace {

/// Each repetition that is not yet final maps at least one granule more, so few are needed; past
/// this many the argument above does not hold.
constexpr std::int64_t kMostRepetitions = 64;

/// What was mapped each time that `stage` of `step` ended.
std::vector<std::uint64_t> mapped_after(const RunReport& report, Stage stage, int step) {
  std::vector<std::uint64_t> mapped;
  for (const StageRecord& record : report.stages) {
    if (record.stage == stage && record.step == step) mapped.push_back(record.reserved);
  }
  return mapped;
}

/// Whether the last of at least two entries is what the one before it is.
bool settled(const std::vector<std::uint64_t>& mapped) {
  return mapped.size() >= 2 && mapped.back() == mapped[mapped.size() - 2];
}

bool steps_settled(const RunReport& report, int steps) {
  const auto before = mapped_after(report, Stage::ZeroGrad, steps - 1);
  const auto after = mapped_after(report, Stage::ZeroGrad, steps);
  return before == after;
}

bool micro_batches_settled(const RunReport& report, int steps) {
  for (int step = 1; step <= steps; ++step) {
    if (!settled(mapped_after(report, Stage::Backward, step))) return false;
  }
  return true;
}

/// Forgets the step that only showed that nothing changes any more.
void drop_step(RunReport& report, int step) {
  const auto in_step = [step](const auto& entry) { return entry.step == step; };
  auto& stages = report.stages;
  stages.erase(std::remove_if(stages.begin(), stages.end(), in_step), stages.end());
  auto& events = report.events;
  events.erase(std::remove_if(events.begin(), events.end(), in_step), events.end());
}

}  // namespace

RunReport steady_run(const VirtualGpu& gpu, const ModelConfig& config,
                     const TrainingOptions& options) {
  validate(config, options);
  TrainingOptions shorter = options;
  shorter.accumulate = std::min<std::int64_t>(options.accumulate, 3);
  int steps = kDefaultSteps + 1;
  while (std::max<std::int64_t>(steps, shorter.accumulate) <= kMostRepetitions) {
    RunReport report = dry_run(gpu, config, shorter, steps);
    if (report.missing) return report;
    if (shorter.accumulate < options.accumulate && !micro_batches_settled(report, steps)) {
      shorter.accumulate = std::min(shorter.accumulate + 2, options.accumulate);
    } else if (!steps_settled(report, steps)) {
      ++steps;
    } else {
      drop_step(report, steps);
      return report;
    }
  }
  throw std::logic_error("steady_run: steps keep mapping more");
}

RunReport steady_run(const VirtualGpu& gpu, const ModelConfig& config,
                     const GenerationOptions& options) {
  validate(config, options);
  for (std::int64_t decodes = 2; decodes <= kMostRepetitions; ++decodes) {
    RunReport report = dry_run(gpu, config, options, decodes);
    const bool all = options.generate - 1 <= decodes;
    if (report.missing || all || settled(mapped_after(report, Stage::Decode, 1))) return report;
  }
  throw std::logic_error("steady_run: decode steps keep mapping more");
}

}  // namespace vramfit
