#include "bench/families/cliff.h"
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
  Result result = run_cliff(c, {"Training", training_options(c), Size::Batch}, run_apart);
  result.counters.set("article_max_batch", static_cast<double>(article_max_batch(c)));
  return result;
}

}  // namespace vramfit::bench
