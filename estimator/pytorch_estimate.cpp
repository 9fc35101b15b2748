#include "estimator/pytorch_estimate.h"

#include <algorithm>

#include "estimator/lacks.h"
#include "estimator/releases.h"
#include "model/errors.h"
#include "model/transformer/parameters.h"
#include "runtimes/pytorch/generate.h"

namespace vramfit::pytorch {
namespace {

Gpu gpu_of(const Budget& budget) {
  Gpu gpu;
  gpu.arch = budget.arch;
  gpu.multiprocessors = budget.multiprocessors;
  gpu.libraries = budget.overhead.pytorch;
  return gpu;
}

RunReport run_within(Gpu gpu, std::uint64_t capacity, const Request& request) {
  gpu.allocator_capacity = capacity;
  return std::visit(
      [&](const auto& options) { return run(gpu, current_release(), request.model, options); },
      *request.pytorch);
}

/// What the run is charged beside what the allocator reserves: libraries as they are at its end.
Overhead overhead_of(const Budget& budget, const RunReport& run) {
  const StageRecord& last = run.stages.back();
  Overhead overhead = budget.overhead;
  overhead.context = budget.overhead.pytorch.context;
  overhead.libraries = last.device_used - last.reserved - overhead.context;
  return overhead;
}

/// An unlimited run, and where it takes more than the card has, one on the card: there the
/// allocator gives back what it cached before it gives up.
struct Runs {
  Runs(const Request& request) {
    constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 60;
    const Gpu gpu = gpu_of(request.budget);
    report = run_within(gpu, kUnlimited, request);
    if (report.missing) {
      throw BadInput("sizes: more than 2^60 bytes are needed; a smaller batch, seq or model");
    }
    overhead = overhead_of(request.budget, report);
    capacity = pool_capacity(request.budget.vram, overhead, request.budget.headroom);
    fits = report.reserved <= capacity;
    if (fits) return;
    RunReport limited = run_within(gpu, capacity, request);
    missing = limited.missing;
    fits = !missing;
    gave_back = fits;
    if (fits) report = std::move(limited);
  }

  RunReport report;
  Overhead overhead;
  std::uint64_t capacity = 0;
  bool fits = false;
  bool gave_back = false;
  std::optional<MissingMemory> missing;
};

/// What is computed in: autocast's type where it is on.
DType precision_of(const Workload& workload) {
  if (const auto* training = std::get_if<TrainingOptions>(&workload)) {
    return training->autocast.value_or(training->precision);
  }
  return std::get<GenerationOptions>(workload).precision;
}

std::vector<std::string> notes_on(const Request& request, const Runs& runs) {
  std::vector<std::string> notes = request.model.notes;
  const auto leave_out = [&](std::int64_t shown, std::int64_t all, const char* what) {
    if (shown >= all) return;
    notes.push_back(std::to_string(shown) + " of " + std::to_string(all) + " " + what);
  };
  if (const auto* training = std::get_if<TrainingOptions>(&*request.pytorch)) {
    leave_out(kMaxMicroBatches, training->accumulate,
              "micro-batches are walked: the others are like the last of them");
  } else {
    leave_out(kMaxDecodes, std::get<GenerationOptions>(*request.pytorch).generate - 1,
              "decode steps are walked, evenly spread");
  }
  if (runs.gave_back) {
    notes.emplace_back(
        "it fits only because the allocator gives back cached segments on the way, "
        "which costs time");
  }
  const auto add = [&](const std::vector<std::string>& more) {
    notes.insert(notes.end(), more.begin(), more.end());
  };
  add(lacks(request.budget, precision_of(*request.pytorch)));
  add(lacks(request.budget, current_release()));
  add(request.budget.notes);
  return notes;
}

}  // namespace

Estimate estimate(const Request& request) {
  validate(request.model, *request.pytorch);
  const Runs runs(request);
  const RunReport& report = runs.report;
  Estimate result;
  result.levels.allocated = report.peak.allocated;
  result.levels.reserved = report.reserved;
  result.levels.device_used = report.reserved + runs.overhead.context + runs.overhead.libraries;
  result.overhead = runs.overhead;
  result.capacity = runs.capacity;
  result.total = report.reserved + runs.overhead.total();
  result.margin = static_cast<std::int64_t>(request.budget.vram) -
                  static_cast<std::int64_t>(result.total + request.budget.headroom);
  result.fits = runs.fits;
  result.missing = runs.missing;
  result.peak = report.peak;
  result.stages = report.stages;
  result.parameters = result.parameters_stored = parameter_count(request.model);
  result.notes = notes_on(request, runs);
  return result;
}

bool fits(const Request& request) {
  validate(request.model, *request.pytorch);
  return Runs(request).fits;
}

std::uint64_t least_bytes(const Request& request) {
  validate(request.model, *request.pytorch);
  return run_within(gpu_of(request.budget), ~std::uint64_t{0}, request).peak.allocated;
}

}  // namespace vramfit::pytorch
