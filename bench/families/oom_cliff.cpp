#include "bench/families/cliff.h"
#include "bench/rows/counters.h"
#include "runtimes/article/formulas.h"

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

/// The largest batch that trains on a card.
Result run_oom_cliff(const Case& c, const RunApart& run_apart) {
  const TrainingOptions options = training_options(c);
  Result result = run_cliff(c, {"Training", options, kBatchAxis}, run_apart);
  // The article's code knows no adapters; its table does, and has no formula.
  if (!options.lora) {
    result.counters.set("article_max_batch", static_cast<double>(article_max_batch(c)));
  }
  count_trained(result.counters, *c.config, options);
  return result;
}

}  // namespace vramfit::bench
