#include "estimator/estimate.h"

#include <algorithm>

#include "estimator/lacks.h"
#include "estimator/pytorch_estimate.h"
#include "estimator/steady_run.h"
#include "model/errors.h"
#include "model/transformer/parameters.h"

namespace vramfit {
namespace {

RunReport run_within(std::uint64_t capacity, const Request& request) {
  const VirtualGpu gpu{request.budget.arch, capacity};
  return std::visit([&](const auto& options) { return steady_run(gpu, request.model, options); },
                    request.workload);
}

/// Says so where `stages` hold fewer repetitions of a stage in a step than the run has.
void note_left_out(const std::vector<StageRecord>& stages, Stage stage, std::int64_t in_run,
                   const char* what, std::vector<std::string>& notes) {
  const auto shown = std::count_if(stages.begin(), stages.end(), [&](const StageRecord& record) {
    return record.stage == stage && record.step == 1;
  });
  if (shown >= in_run) return;
  notes.push_back("stages show " + std::to_string(shown) + " of " + std::to_string(in_run) + " " +
                  what + ": the others are like the last of them");
}

std::vector<std::string> notes_on(const Request& request, const RunReport& run) {
  std::vector<std::string> notes = request.model.notes;
  if (positions_of(request.workload) > request.model.max_positions) {
    notes.push_back("more positions than the " + std::to_string(request.model.max_positions) +
                    " that " + request.model.name + " was made for");
  }
  if (const auto* training = std::get_if<TrainingOptions>(&request.workload)) {
    // Nobody benchmarks with it.
    if (request.model.dropout.any()) {
      notes.emplace_back("dropout is left out (its masks would add memory)");
    }
    note_left_out(run.stages, Stage::Backward, training->accumulate, "micro-batches", notes);
  } else {
    const std::int64_t decodes = std::get<GenerationOptions>(request.workload).generate - 1;
    note_left_out(run.stages, Stage::Decode, decodes, "decode steps", notes);
  }
  for (std::string& note : lacks(request.budget, precision_of(request.workload))) {
    notes.push_back(std::move(note));
  }
  notes.insert(notes.end(), request.budget.notes.begin(), request.budget.notes.end());
  return notes;
}

}  // namespace

std::int64_t batch_of(const Request& request) {
  if (!request.pytorch) return batch_of(request.workload);
  return std::visit([](const auto& options) { return options.batch; }, *request.pytorch);
}

std::int64_t seq_of(const Request& request) {
  if (!request.pytorch) return seq_of(request.workload);
  return std::visit([](const auto& options) { return options.seq; }, *request.pytorch);
}

void set_batch(Request& request, std::int64_t batch) {
  set_batch(request.workload, batch);
  if (!request.pytorch) return;
  std::visit([batch](auto& options) { options.batch = batch; }, *request.pytorch);
}

void set_seq(Request& request, std::int64_t seq) {
  set_seq(request.workload, seq);
  if (!request.pytorch) return;
  std::visit([seq](auto& options) { options.seq = seq; }, *request.pytorch);
}

std::int64_t seq_limit(const Request& request) {
  return request.pytorch ? pytorch::seq_limit(request.model, *request.pytorch)
                         : seq_limit(request.model, request.workload);
}

Estimate estimate(const Request& request) {
  if (request.pytorch) return pytorch::estimate(request);
  validate(request.model, request.workload);
  const RunReport run = run_within(VirtualSource::kUnlimited, request);
  if (run.missing) {
    throw BadInput("sizes: more than 2^60 bytes are needed; a smaller batch, seq or model");
  }
  const Budget& budget = request.budget;
  Estimate result;
  result.levels.allocated = run.peak.allocated;
  result.levels.reserved = run.reserved;
  result.levels.device_used = run.reserved + budget.overhead.context + budget.overhead.libraries;
  result.overhead = budget.overhead;
  result.capacity = budget.capacity();
  result.total = run.reserved + budget.overhead.total();
  // All below 2^61, so differences fit.
  result.margin = static_cast<std::int64_t>(budget.vram) -
                  static_cast<std::int64_t>(result.total + budget.headroom);
  result.fits = run.reserved <= budget.capacity();
  result.peak = run.peak;
  result.stages = run.stages;
  if (!result.fits) result.missing = run_within(budget.capacity(), request).missing;
  result.parameters = parameter_count(request.model);
  result.parameters_stored = stored_parameter_count(request.model);
  result.notes = notes_on(request, run);
  return result;
}

bool fits(const Request& request) {
  if (request.pytorch) return pytorch::fits(request);
  validate(request.model, request.workload);
  return !run_within(request.budget.capacity(), request).missing;
}

std::uint64_t least_bytes(const Request& request) {
  if (request.pytorch) return pytorch::least_bytes(request);
  validate(request.model, request.workload);
  const RunReport run = run_within(VirtualSource::kUnlimited, request);
  return run.missing ? VirtualSource::kUnlimited : run.peak.allocated;
}

}  // namespace vramfit
