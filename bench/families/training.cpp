#include "bench/families/memory_row.h"
#include "bench/families/throughput.h"
#include "bench/rows/families.h"

namespace vramfit::bench {

/// Load and train until a step is like the next, two steps or three: the article's waterfall, then
/// the step where the peak is.
Result run_training(const Case& c, const RunApart&) {
  const TrainingOptions options = training_options(c);
  Result result = run_memory_row(c, options);
  if (!options.lora) count_article_formula(result.counters, c);
  count_trained(result.counters, *c.config, options);
  count_speed(result.counters, c, options);
  return result;
}

}  // namespace vramfit::bench
