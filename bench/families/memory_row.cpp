#include "bench/families/memory_row.h"

#include <algorithm>
#include <chrono>

#include "bench/families/pytorch.h"
#include "bench/rows/counters.h"
#include "estimator/steady_run.h"
#include "runtimes/vramfit/dry_run.h"
#include "runtimes/vramfit/runtime.h"

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

RunReport predict(const Case& c, const StepOptions& options, std::uint64_t capacity,
                  bool events = false) {
  return steady_run(StepWorkload(options), c.gpu(), capacity, *c.config, {.events = events}).report;
}

int steps_of(const RunReport& report) {
  int steps = kDefaultSteps;
  for (const StageRecord& stage : report.stages) steps = std::max(steps, stage.step);
  return steps;
}

/// As many as this run's prediction took; of a pipeline, whose stages differ, as many as any
/// stage's: all ranks do the same steps, or some wait for ever.
int steps_of(const Case& c, const StepOptions& options, const RunReport& predicted) {
  int steps = steps_of(predicted);
  const auto* training = std::get_if<TrainingOptions>(&options);
  if (training == nullptr || !training->mesh.pipelined()) return steps;
  TrainingOptions stage = *training;
  for (std::int64_t rank = 0; rank < training->mesh.ranks; ++rank) {
    stage.mesh.rank = rank;
    steps = std::max(steps, steps_of(predict(c, stage, kUnlimitedBytes)));
  }
  return steps;
}

Measurement measure(const Case& c, const StepOptions& options, int steps) {
  return c.device->measure(c.capacity(), [&](Device& device, Ledger& ledger) {
    if (const auto* training = std::get_if<TrainingOptions>(&options)) {
      return vramfit::run_training(device, ledger, *c.config, *training, steps);
    }
    return run_generation(device, ledger, *c.config, std::get<GenerationOptions>(options));
  });
}

/// The measured run on paper: within the same capacity, and as long.
RunReport rehearse(const Case& c, const StepOptions& options, int steps) {
  const VirtualGpu gpu{c.arch(), c.capacity()};
  if (const auto* training = std::get_if<TrainingOptions>(&options)) {
    return dry_run(gpu, *c.config, *training, steps);
  }
  return dry_run(gpu, *c.config, std::get<GenerationOptions>(options));
}

/// mem_* and what is said of them. `steps`: as many as the prediction took, so that the two can be
/// held against each other.
Measurement count_measured(Counters& counters, const Case& c, const StepOptions& options,
                           int steps) {
  Measurement measured = measure(c, options, steps);
  count_run(counters, "mem", measured.report);
  count_device_use(counters, c, measured);
  const bool equal = !first_difference(measured.report, rehearse(c, options, steps));
  counters.set("ledger_equal", equal ? 1.0 : 0.0);
  return measured;
}

}  // namespace

std::string evidence(const Case& c) {
  const std::string assumed = c.card && c.card->overhead_assumed ? ", overhead assumed" : "";
  if (c.device == nullptr) return "predicted, virtual:" + c.card->name + assumed;
  const std::string& capped = c.row[Axis::Gpu];
  return "measured, " + c.device->name() + (capped.empty() ? "" : " as " + capped) + assumed;
}

Result run_memory_row(const Case& c, const StepOptions& options) {
  using Clock = std::chrono::steady_clock;
  Result result;
  Counters& counters = result.counters;
  auto start = Clock::now();
  const bool on_paper = c.device == nullptr;
  RunReport report = predict(c, options, kUnlimitedBytes, c.keeps_ledger && on_paper);
  auto end = Clock::now();
  count_run(counters, "pred", report);
  count_card(counters, c, report.reserved);
  count_pytorch(counters, c, options);
  count_model(counters, *c.config);
  count_article(counters, c.row);
  bool oom = report.missing || report.reserved > c.capacity();
  counters.set("pred_oom", oom ? 1.0 : 0.0);
  std::string cut_short;
  if (!on_paper) {
    start = Clock::now();
    report = count_measured(counters, c, options, steps_of(c, options, report)).report;
    end = Clock::now();
    oom = report.missing.has_value();
    cut_short = end_of(report);
  } else if (oom) {
    cut_short = end_of(predict(c, options, c.capacity()));
  }
  counters.set("oom", oom ? 1.0 : 0.0);
  if (c.keeps_ledger) result.ledger = keep(report);
  result.seconds = std::chrono::duration<double>(end - start).count();
  result.label =
      evidence(c) + cut_short + "; peak in " + moment(report.peak.stage, report.peak.step);
  return result;
}

}  // namespace vramfit::bench
