#include <benchmark/benchmark.h>

#include <algorithm>

#include "bench/counters.h"
#include "bench/families.h"
#include "bench/memory_row.h"
#include "estimator/article_formulas.h"
#include "estimator/largest.h"
#include "estimator/steady_run.h"

namespace vramfit::bench {
namespace {

/// The article's formula for the VRAM that its table has for the card, or else the card's own.
std::int64_t article_max_batch(const Case& c) {
  article::Question question =
      article::question_about(*c.config, c.row[Axis::Precision], 1, c.size(Axis::Seq));
  question.vram_gb = c.card->article_vram_gb.value_or(static_cast<double>(c.card->vram) / 1e9);
  return article::find_max_batch_size(question);
}

}  // namespace

/// The largest batch that trains on a card, and what it takes there; what batch 1 would take, with
/// oom = 1, where none does.
void run_oom_cliff(::benchmark::State& state, const Case& c) {
  TrainingOptions options = training_options(c);
  std::int64_t largest = 0;
  while (state.KeepRunning()) largest = largest_batch({*c.config, options, budget_of(*c.card)});
  options.batch = std::max(largest, std::int64_t{1});
  const RunReport report = steady_run({c.arch()}, *c.config, options);
  Counters counters(state);
  counters.set("pred_max_batch", static_cast<double>(largest));
  counters.set("article_max_batch", static_cast<double>(article_max_batch(c)));
  counters.set("oom", largest == 0 ? 1.0 : 0.0);
  count_run(counters, "pred", report);
  count_card(counters, c, report.reserved);
  count_model(counters, *c.config);
  state.SetLabel(evidence(c) +
                 (largest == 0 ? "; figures of batch 1" : "; figures of the largest batch"));
}

}  // namespace vramfit::bench
