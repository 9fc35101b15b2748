#include "bench/families/cliff.h"

namespace vramfit::bench {

/// The largest batch of prompts of a length that a card generates from.
Result run_batch_cliff(const Case& c, const RunApart& run_apart) {
  return run_cliff(c, {"KvCache", generation_options(c), kBatchAxis}, run_apart);
}

/// The longest prompts of a batch.
Result run_context_cliff(const Case& c, const RunApart& run_apart) {
  return run_cliff(c, {"KvCache", generation_options(c), kSeqAxis}, run_apart);
}

}  // namespace vramfit::bench
