#include "bench/memory_row.h"

#include <benchmark/benchmark.h>

#include <algorithm>

#include "bench/counters.h"
#include "estimator/steady_run.h"

namespace vramfit::bench {
namespace {

std::string moment(Stage stage, int step) {
  const std::string text = name(stage);
  return step == 0 ? text : text + " of step " + std::to_string(step);
}

/// "; out of memory in …" where the run did not complete.
std::string end_of(const RunReport& report) {
  const auto& missing = report.missing;
  return missing ? "; out of memory in " + moment(missing->stage, missing->step) : "";
}

RunReport predict(const Case& c, const Workload& workload, std::uint64_t capacity) {
  const VirtualGpu gpu{c.arch(), capacity};
  return std::visit([&](const auto& options) { return steady_run(gpu, *c.config, options); },
                    workload);
}

/// As many steps as `predicted` has, so that the two can be held against each other.
Measurement measure(const Case& c, const Workload& workload, const RunReport& predicted) {
  int steps = kDefaultSteps;
  for (const StageRecord& stage : predicted.stages) steps = std::max(steps, stage.step);
  return c.device->measure([&](Device& device, Ledger& ledger) {
    if (const auto* training = std::get_if<TrainingOptions>(&workload)) {
      return vramfit::run_training(device, ledger, *c.config, *training, steps);
    }
    return run_generation(device, ledger, *c.config, std::get<GenerationOptions>(workload));
  });
}

}  // namespace

std::string evidence(const Case& c) {
  if (c.device != nullptr) return "measured, " + c.device->name();
  return "predicted, virtual:" + c.card->name +
         (c.card->overhead_assumed ? ", overhead assumed" : "");
}

Outcome run_memory_row(::benchmark::State& state, const Case& c, const Workload& workload) {
  Outcome outcome;
  if (c.device != nullptr) outcome.predicted = predict(c, workload, VirtualSource::kUnlimited);
  while (state.KeepRunning()) {
    if (c.device != nullptr) {
      outcome.measured = measure(c, workload, outcome.predicted);
    } else {
      outcome.predicted = predict(c, workload, VirtualSource::kUnlimited);
    }
  }

  Counters counters(state);
  count_run(counters, "pred", outcome.predicted);
  count_card(counters, c, outcome.predicted.reserved);
  count_model(counters, *c.config);
  count_article(counters, c.row);
  if (outcome.measured) count_run(counters, "mem", outcome.measured->report);

  const RunReport& report = outcome.measured ? outcome.measured->report : outcome.predicted;
  const bool oom = report.missing || (!outcome.measured && report.reserved > c.capacity());
  counters.set("oom", oom ? 1.0 : 0.0);
  std::string label = evidence(c);
  if (oom) label += end_of(outcome.measured ? report : predict(c, workload, c.capacity()));
  state.SetLabel(label + "; peak in " + moment(report.peak.stage, report.peak.step));
  return outcome;
}

}  // namespace vramfit::bench
