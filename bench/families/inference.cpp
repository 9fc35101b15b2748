#include "bench/families.h"
#include "bench/memory_row.h"
#include "bench/throughput.h"

namespace vramfit::bench {

/// Load, fill the cache with prompts of `seq` tokens, generate.
Result run_inference(const Case& c, const RunApart&) {
  const GenerationOptions options = generation_options(c);
  Result result = run_memory_row(c, options);
  count_speed(result.counters, c, options);
  return result;
}

}  // namespace vramfit::bench
