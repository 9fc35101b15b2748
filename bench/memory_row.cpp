#include "bench/memory_row.h"

#include <benchmark/benchmark.h>

#include "bench/counters.h"

namespace vramfit::bench {
namespace {

std::string moment(Stage stage, int step) {
  const std::string text = name(stage);
  return step == 0 ? text : text + " of step " + std::to_string(step);
}

/// Where the run ends on the row's card: found by running it again with the card's capacity.
std::string cliff(const Case& c, const Workload& workload) {
  const auto missing = workload.predict({c.arch(), c.capacity()}).missing;
  return missing ? "; out of memory in " + moment(missing->stage, missing->step) : "";
}

}  // namespace

Workload training_workload(const ModelConfig& config, const TrainingOptions& options) {
  return {[&config, options](const VirtualGpu& gpu) { return dry_run(gpu, config, options); },
          [&config, options](Device& device, Ledger& ledger) {
            return run_training(device, ledger, config, options);
          }};
}

Workload generation_workload(const ModelConfig& config, const GenerationOptions& options) {
  return {[&config, options](const VirtualGpu& gpu) { return dry_run(gpu, config, options); },
          [&config, options](Device& device, Ledger& ledger) {
            return run_generation(device, ledger, config, options);
          }};
}

std::string evidence(const Case& c) {
  if (c.device != nullptr) return "measured, " + c.device->name();
  return "predicted, virtual:" + c.card->name +
         (c.card->overhead_assumed ? ", overhead assumed" : "");
}

Outcome run_memory_row(::benchmark::State& state, const Case& c, const Workload& workload) {
  const VirtualGpu unlimited{c.arch()};
  Outcome outcome;
  for (auto _ : state) {
    if (c.device != nullptr) {
      outcome.measured = c.device->measure(workload.run);
    } else {
      outcome.predicted = workload.predict(unlimited);
    }
  }
  Counters counters(state);
  bool oom = false;
  std::string label = evidence(c);
  if (outcome.measured) {
    outcome.predicted = workload.predict(unlimited);
    count_run(counters, "mem", outcome.measured->report);
    const auto& missing = outcome.measured->report.missing;
    oom = missing.has_value();
    if (oom) label += "; out of memory in " + moment(missing->stage, missing->step);
  } else {
    oom = outcome.predicted.missing.has_value() || outcome.predicted.reserved > c.capacity();
    if (oom) label += cliff(c, workload);
  }
  count_run(counters, "pred", outcome.predicted);
  count_card(counters, c, outcome.predicted.reserved);
  count_model(counters, *c.config);
  count_article(counters, c.row);
  counters.set("oom", oom ? 1.0 : 0.0);
  const Snapshot& peak = outcome.best().peak;
  state.SetLabel(label + "; peak in " + moment(peak.stage, peak.step));
  return outcome;
}

}  // namespace vramfit::bench
