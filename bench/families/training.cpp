#include "bench/counters.h"
#include "bench/families.h"
#include "bench/memory_row.h"
#include "bench/throughput.h"

namespace vramfit::bench {

/// Load and train until a step is like the next, two steps or three: the article's waterfall, then
/// the step where the peak is.
void run_training(::benchmark::State& state, const Case& c) {
  const TrainingOptions options = training_options(c);
  const Outcome outcome = run_memory_row(state, c, options);
  if (!outcome.measured) return;
  Counters counters(state);
  count_training_speed(counters, *c.config, options, *outcome.measured);
}

}  // namespace vramfit::bench
