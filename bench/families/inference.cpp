#include "bench/families/memory_row.h"
#include "bench/families/rounding.h"
#include "bench/families/throughput.h"
#include "bench/rows/families.h"

namespace vramfit::bench {

/// Load, fill the cache with prompts of `seq` tokens, generate.
Result run_inference(const Case& c, const RunApart&) {
  const GenerationOptions options = generation_options(c);
  Result result = run_memory_row(c, options);
  count_article_formula(result.counters, c);
  count_speed(result.counters, c, options);
  count_rounding(result.counters, c, options);
  return result;
}

}  // namespace vramfit::bench
