#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "bench/families/memory_row.h"
#include "bench/families/pytorch.h"
#include "bench/rows/families.h"
#include "estimator/largest.h"
#include "estimator/search.h"
#include "estimator/steady_run.h"
#include "model/transformer/sizes.h"
#include "runtimes/article/formulas.h"
#include "runtimes/vramfit/runtime.h"

namespace vramfit::bench {
namespace {

/// The article's formula for the VRAM that its table has for the card, or else the card's own.
std::int64_t article_max_batch(const Case& c) {
  article::Question question =
      article::question_about(*c.config, c.row[Axis::Precision], 1, c.size(Axis::Seq));
  question.vram_gb = c.card->article_vram_gb.value_or(static_cast<double>(c.card->vram) / 1e9);
  return article::find_max_batch_size(question);
}

/// The row's training with a batch, on the same card.
Row training_row(const Case& c, std::int64_t batch) {
  Row row = c.row;
  row.family = find_family("Training");
  row[Axis::Batch] = std::to_string(batch);
  return row;
}

/// The largest batch by running them, from the predicted one: two runs where that is right.
class RealSearch {
 public:
  RealSearch(const Case& c, const RunApart& run_apart) : case_(c), run_apart_(run_apart) {}

  std::int64_t largest(std::int64_t predicted) {
    return largest_near(
        predicted, [this](std::int64_t batch) { return fits(batch); }, kMaxBatch);
  }

  /// Of the largest that fits; empty where none does.
  const Counters& counters() const { return counters_; }

 private:
  bool fits(std::int64_t batch) {
    const Row row = training_row(case_, batch);
    const Result result = run_apart_(row);
    if (!result.error.empty()) throw std::runtime_error(row.name() + ": " + result.error);
    const bool fit = result.counters.values().at("oom") == 0;
    if (fit && batch > largest_) {
      largest_ = batch;
      counters_ = result.counters;
    }
    return fit;
  }

  const Case& case_;
  const RunApart& run_apart_;
  std::int64_t largest_ = 0;
  Counters counters_;
};

/// mem_max_batch, and what is measured at it.
std::int64_t count_measured(Counters& counters, const Case& c, const RunApart& run_apart,
                            std::int64_t predicted) {
  RealSearch search(c, run_apart);
  const std::int64_t largest = search.largest(predicted);
  for (const auto& [name, value] : search.counters().values()) {
    if (name.rfind("mem_", 0) == 0 || name == "ledger_equal") counters.set(name, value);
  }
  counters.set("mem_max_batch", static_cast<double>(largest));
  return largest;
}

}  // namespace

/// The largest batch that trains on a card, and what it takes there; what batch 1 would take, with
/// oom = 1, where none does.
Result run_oom_cliff(const Case& c, const RunApart& run_apart) {
  using Clock = std::chrono::steady_clock;
  TrainingOptions options = training_options(c);
  Budget budget = budget_of(*c.card);
  budget.arch = c.arch();
  Result result;
  Counters& counters = result.counters;
  const auto start = Clock::now();
  std::int64_t largest =
      find_largest({*c.config, std::make_shared<StepWorkload>(options), budget}, Size::Batch).size;
  counters.set("pred_max_batch", static_cast<double>(largest));
  options.batch = std::max(largest, std::int64_t{1});
  if (c.device != nullptr) largest = count_measured(counters, c, run_apart, largest);
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();

  const RunReport report =
      steady_run(StepWorkload(options), c.gpu(), kUnlimitedBytes, *c.config, {.events = false})
          .report;
  counters.set("article_max_batch", static_cast<double>(article_max_batch(c)));
  counters.set("oom", largest == 0 ? 1.0 : 0.0);
  count_run(counters, "pred", report);
  count_card(counters, c, report.reserved);
  count_pytorch_cliff(counters, c, options);
  count_model(counters, *c.config);
  result.label =
      evidence(c) + (largest == 0 ? "; figures of batch 1" : "; figures of the largest batch");
  return result;
}

}  // namespace vramfit::bench
