#include "estimator/dry_run/dry_run.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;

Stage stage_of(const std::string& stage) {
  static const std::map<std::string, Stage> stages = {
      {"load", Stage::Loaded},       {"compile", Stage::Compile},     {"forward", Stage::Forward},
      {"backward", Stage::Backward}, {"optimizer", Stage::Optimizer}, {"profile", Stage::Profile},
      {"kv_cache", Stage::KvCache},  {"warm_up", Stage::WarmUp},      {"serve", Stage::Serve},
      {"sample", Stage::Sample},     {"sleep", Stage::Sleep},         {"wake_up", Stage::WakeUp}};
  return stages.at(stage);
}

Budget budget_in(const Json& json) {
  Budget budget;
  const Json& gpu = json.at("gpu");
  if (gpu.at("name").is_string()) budget.gpu = gpu.at("name");
  budget.title = gpu.at("title");
  budget.arch.sm = std::stoi(gpu.at("arch").get<std::string>().substr(3));  // after "sm_"
  budget.vram = json.at("vram");
  budget.headroom = json.at("headroom");
  budget.held = json.at("held_by_others");
  const Json& parts = json.at("overhead_parts");
  budget.overhead.driver_reserved = parts.at("driver_reserved");
  budget.overhead.context = parts.at("context");
  budget.overhead.source = json.at("overhead_source");
  return budget;
}

DryRun::StageLevels stage_in(const Json& json) {
  return {.step = json.at("step"),
          .stage = stage_of(json.at("name")),
          .before = json.at("before"),
          .after = json.at("after"),
          .peak = json.at("peak"),
          .peak_reserved = json.at("peak_reserved"),
          .peak_device_used = json.at("peak_device_used")};
}

DryRun::Holder holder_in(const Json& json) {
  return {.component = json.at("component"),
          .line = json.at("line"),
          .script = json.at("script"),
          .in_backward = json.at("in_backward"),
          .bytes = json.at("bytes"),
          .blocks = json.at("blocks")};
}

/// What the card lost beside what the allocator reserved.
Overhead overhead_of(const DryRun& run) {
  Overhead overhead = run.budget.overhead;
  const std::uint64_t beside =
      run.levels.device_used - std::min(run.levels.device_used, run.levels.reserved);
  overhead.context = std::min(overhead.context, beside);
  overhead.libraries = beside - overhead.context;
  return overhead;
}

}  // namespace

DryRun read_dry_run(const std::string& text) {
  const Json json = Json::parse(text);
  DryRun run;
  run.command = json.at("command");
  run.about = json.at("about");
  run.budget = budget_in(json);
  const Json& levels = json.at("levels");
  run.levels.allocated = levels.at("allocated");
  run.levels.reserved = levels.at("reserved");
  run.levels.device_used = levels.at("device_used");
  const Json& peak = json.at("peak");
  run.peak = stage_of(peak.at("stage"));
  run.peak_step = peak.at("step");
  const Json& uncertainty = json.at("uncertainty");
  run.uncertainty = {uncertainty.at("reserved"),
                     {uncertainty.at("overhead_less"), uncertainty.at("overhead_more")}};
  if (const Json& end = json.at("out_of_memory"); !end.is_null()) {
    run.out_of_memory = DryRun::OutOfMemory{.stage = stage_of(end.at("stage")),
                                            .step = end.at("step"),
                                            .requested = end.at("requested"),
                                            .free = end.at("free"),
                                            .line = end.at("line")};
  }
  if (json.at("ended") == "refused") run.refused = json.at("vllm").at("lacks");
  for (const Json& stage : json.at("stages")) run.stages.push_back(stage_in(stage));
  if (const Json& holders = json.at("holders"); !holders.is_null()) {
    for (const Json& holder : holders) run.holders.push_back(holder_in(holder));
  }
  run.notes = json.at("notes");
  return run;
}

Estimate judged(const DryRun& run) {
  Estimate estimate;
  estimate.levels = run.levels;
  estimate.peak.stage = run.peak;
  estimate.peak.step = run.peak_step;
  estimate.overhead = overhead_of(run);
  estimate.capacity = pool_capacity(run.budget.vram, estimate.overhead, run.budget.set_aside());
  estimate.total = run.levels.reserved + estimate.overhead.total();
  estimate.notes = run.notes;
  estimate.uncertainty = run.uncertainty;
  // What libraries take beside the allocator is not refused them: a run may end beyond its card.
  estimate.margin = static_cast<std::int64_t>(run.budget.vram - run.budget.set_aside()) -
                    static_cast<std::int64_t>(estimate.total);
  if (run.out_of_memory) {
    const auto requested = static_cast<std::int64_t>(run.out_of_memory->requested);
    const auto free = static_cast<std::int64_t>(run.out_of_memory->free);
    // What is free may be in pieces.
    estimate.margin = std::min({free - requested, estimate.margin, std::int64_t{-1}});
    estimate.verdict = Verdict::Oom;
    return estimate;
  }
  if (run.refused > 0) estimate.margin = -static_cast<std::int64_t>(run.refused);
  estimate.fits = estimate.margin >= 0;
  estimate.verdict = verdict_of(estimate.fits, estimate.margin, estimate.uncertainty);
  return estimate;
}

nlohmann::json verdict_json(const Estimate& estimate) {
  return {{"fits", estimate.fits},
          {"verdict", name(estimate.verdict)},
          {"uncertainty", as_json(*estimate.uncertainty, estimate.fits)},
          {"capacity", estimate.capacity},
          {"overhead", estimate.overhead.total()},
          {"overhead_parts",
           {{"driver_reserved", estimate.overhead.driver_reserved},
            {"context", estimate.overhead.context},
            {"libraries", estimate.overhead.libraries}}},
          {"total", estimate.total},
          {"margin", estimate.margin}};
}

}  // namespace vramfit
