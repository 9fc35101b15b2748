#include "bench/families/communication.h"
#include "bench/families/memory_row.h"
#include "bench/families/throughput.h"
#include "bench/rows/families.h"

namespace vramfit::bench {

/// A training run of one rank among those of the row: on paper, the first, which is as the others
/// are; on GPUs, this process's. Tokens are counted of all ranks.
Result run_multi_gpu(const Case& c, const RunApart&) {
  const TrainingOptions options = training_options(c);
  Result result = run_memory_row(c, options);
  count_trained(result.counters, *c.config, options);
  count_communication(result.counters, *c.config, c.arch(), options);
  count_speed(result.counters, c, options);
  return result;
}

}  // namespace vramfit::bench
