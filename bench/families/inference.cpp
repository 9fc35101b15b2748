#include "bench/counters.h"
#include "bench/families.h"
#include "bench/memory_row.h"
#include "bench/throughput.h"

namespace vramfit::bench {

/// Load, fill the cache with prompts of `seq` tokens, generate.
void run_inference(::benchmark::State& state, const Case& c) {
  const GenerationOptions options = generation_options(c);
  const Outcome outcome = run_memory_row(state, c, options);
  if (!outcome.measured) return;
  Counters counters(state);
  count_generation_speed(counters, *c.config, options, *outcome.measured);
}

}  // namespace vramfit::bench
