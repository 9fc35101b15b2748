#include "estimator/estimate.h"

#include <algorithm>

#include "estimator/missing_formats.h"
#include "estimator/steady_run.h"
#include "model/errors.h"
#include "model/transformer/parameters.h"
#include "runtimes/notes.h"

namespace vramfit {
namespace {

/// Blocks are less than so many times their tensors: of one above 1 MiB, what is left beyond
/// another MiB is split off, and of smaller ones all that is.
constexpr std::uint64_t kBlocksOfTensors = 2;

/// Bytes of tensors for which the card has no room, whatever libraries take beside them.
std::uint64_t most_tensors(const Request& request) {
  const Demand demand = request.workload->demand();
  if (demand == Demand::Elastic || !request.budget.machine.empty()) return kUnlimitedBytes;
  Overhead least = request.budget.overhead;
  least.context = least.libraries = 0;
  const std::uint64_t capacity = capacity_beside(least, request);
  // Without limits more may be held for a moment, as a loader looks at what there is.
  return demand == Demand::Adapting ? kBlocksOfTensors * capacity : capacity;
}

/// An unlimited run, and where it takes more than the card has, one on the card: there PyTorch's
/// allocator gives back what it cached before it gives up. Where the card's size decides what is
/// loaded, the run that does not fit is one past its end.
class Runs {
 public:
  /// `most_tensors`: what is known to be more than a run that fits can hold.
  Runs(const Request& request, OomDetail ending, std::uint64_t most_tensors = kUnlimitedBytes) {
    run_ = run_within(kUnlimitedBytes, request, false, most_tensors);
    if (run_.report.missing && most_tensors < kUnlimitedBytes) {
      fits_ = false;
      return;
    }
    if (run_.report.missing) {
      throw BadInput("sizes: more than 2^60 bytes are needed; a smaller batch, seq or model");
    }
    capacity_ = capacity_beside(run_.overhead, request, run_.card);
    const Demand demand = request.workload->demand();
    const bool elastic = demand == Demand::Elastic;
    if (run_.report.reserved <= capacity_ && !elastic) return;
    const bool hopeless = run_.report.peak.allocated / kBlocksOfTensors > capacity_;
    if (ending == OomDetail::Untold && !elastic && (hopeless || demand == Demand::Fixed)) {
      fits_ = false;
      return;
    }
    Outcome limited = run_within(capacity_, request);
    missing_ = limited.report.missing;
    fits_ = !missing_;
    if (missing_ && elastic) run_ = run_past(capacity_, request);
    if (missing_) return;
    run_ = std::move(limited);
    capacity_ = capacity_beside(run_.overhead, request, run_.card);
    if (elastic) return;
    run_.notes.emplace_back(
        "it fits only because the allocator gives back cached segments on the way, "
        "which costs time");
  }

  /// The one that completes, or one that goes past the card.
  const Outcome& run() const { return run_; }
  std::uint64_t capacity() const { return capacity_; }
  bool fits() const { return fits_; }
  /// Where a run on the card ends, if it does and is told.
  const std::optional<MissingMemory>& missing() const { return missing_; }

 private:
  Outcome run_;
  std::uint64_t capacity_ = 0;
  bool fits_ = true;
  std::optional<MissingMemory> missing_;
};

/// A sequence beyond what the config says the model was made for.
void note_positions(const Request& request, std::vector<std::string>& notes) {
  const ModelConfig& model = request.model;
  const std::int64_t positions = request.workload->positions();
  if (model.max_positions < 1 || positions <= model.max_positions) return;
  notes.push_back(std::to_string(positions) + " tokens are more than its config's " +
                  std::string(positions_key(model)) + ", " + std::to_string(model.max_positions));
}

/// What lies in managed memory takes what of the card nothing else does.
std::uint64_t on_card(std::uint64_t managed, std::uint64_t reserved, std::uint64_t capacity) {
  return std::min(managed, capacity - std::min(capacity, reserved));
}

/// All below 2^61, so differences fit.
std::int64_t margin_of(const Budget& budget, std::uint64_t total) {
  return static_cast<std::int64_t>(budget.vram) -
         static_cast<std::int64_t>(total + budget.set_aside());
}

std::vector<CardEstimate> cards_of(const Request& request, const Outcome& run) {
  std::vector<CardEstimate> cards;
  for (std::size_t i = 0; i < run.cards.size(); ++i) {
    const auto& [reserved, overhead] = run.cards[i];
    const Budget& budget = request.budget.at(i);
    CardEstimate card{budget.gpu, budget.title, budget.vram, reserved + overhead.total()};
    card.margin = margin_of(budget, card.total);
    card.verdict = verdict_of(reserved <= capacity_beside(overhead, request, i), card.margin,
                              uncertainty_of(*request.workload, reserved, overhead));
    cards.push_back(std::move(card));
  }
  return cards;
}

/// Of a machine with cards of several kinds the worst.
Verdict verdict_on_all(const Request& request, const Runs& runs,
                       const std::vector<CardEstimate>& cards) {
  const Outcome& run = runs.run();
  const std::uint64_t total = run.report.reserved + run.overhead.total();
  Verdict verdict = verdict_of(runs.fits(), margin_of(request.budget.at(run.card), total),
                               uncertainty_of(*request.workload, run));
  for (const CardEstimate& card : cards) verdict = std::max(verdict, card.verdict);
  return verdict;
}

std::vector<std::string> notes_on(const Request& request, const Outcome& run) {
  std::vector<std::string> notes = request.model.notes;
  note_positions(request, notes);
  notes.insert(notes.end(), run.notes.begin(), run.notes.end());
  note_left_out(run.report.stages, Stage::Backward,
                request.workload->training() ? request.workload->micro_batches() : 0,
                "micro-batches", notes);
  const std::vector<std::string> lacking =
      missing_formats(request.budget, request.workload->computes_in());
  notes.insert(notes.end(), lacking.begin(), lacking.end());
  const std::vector<std::string>& assumed = request.budget.notes;
  notes.insert(notes.end(), assumed.begin(), assumed.end());
  return notes;
}

}  // namespace

std::uint64_t capacity_beside(const Overhead& overhead, const Request& request, std::size_t card) {
  const Budget& budget = request.budget.at(card);
  return pool_capacity(budget.vram, overhead, budget.set_aside(),
                       request.workload->runtime().can().granularity);
}

Outcome run_within(std::uint64_t capacity, const Request& request, bool events,
                   std::uint64_t most_tensors) {
  return steady_run(*request.workload, gpu_of(request.budget), capacity, request.model,
                    {.samples = request.samples, .events = events, .most_tensors = most_tensors});
}

Outcome run_past(std::uint64_t capacity, const Request& request) {
  return steady_run(*request.workload, gpu_of(request.budget), capacity, request.model,
                    {.samples = request.samples, .events = false}, kUnlimitedBytes - capacity);
}

void set_size(Request& request, const SearchAxis& axis, std::int64_t size) {
  request.workload = request.workload->resized(axis, size);
}

Estimate estimate(const Request& request, OomDetail ending) {
  const Runs runs(request, ending);
  const RunReport& report = runs.run().report;
  Estimate result;
  result.overhead = runs.run().overhead;
  result.levels.allocated = report.peak.allocated;
  result.levels.reserved = report.reserved;
  result.levels.host = report.host.reserved;
  result.capacity = runs.capacity();
  const std::uint64_t managed = report.stages.empty() ? 0 : report.stages.back().managed;
  result.levels.managed = on_card(managed, report.reserved, result.capacity);
  result.levels.device_used =
      report.reserved + result.overhead.context + result.overhead.libraries + result.levels.managed;
  result.total = report.reserved + result.overhead.total();
  result.card = runs.run().card;
  result.margin = margin_of(request.budget.at(result.card), result.total);
  result.missing = runs.missing();
  result.fits = runs.fits();
  result.uncertainty = uncertainty_of(*request.workload, runs.run());
  result.peak = report.peak;
  result.on_host = runs.run().on_host;
  result.devices = runs.run().devices;
  result.serving = runs.run().serving;
  result.cards = cards_of(request, runs.run());
  result.verdict = verdict_on_all(request, runs, result.cards);
  result.stages = report.stages;
  for (StageRecord& stage : result.stages) {
    stage.device_used += on_card(stage.managed, stage.reserved, result.capacity);
  }
  result.parameters = request.workload->parameters(request.model);
  result.parameters_stored = request.workload->stored_parameters(request.model);
  result.notes = notes_on(request, runs.run());
  return result;
}

Fitting fitting(const Request& request) {
  const Runs runs(request, OomDetail::Untold, most_tensors(request));
  if (!runs.fits()) return {};
  return {true, verdict_on_all(request, runs, cards_of(request, runs.run())) == Verdict::Fits};
}

}  // namespace vramfit
