#include "bench/families/communication.h"
#include "bench/families/memory_row.h"
#include "bench/families/throughput.h"
#include "bench/rows/families.h"
#include "bench/rows/ranks.h"

namespace vramfit::bench {
namespace {

Result run_rank(const Case& c) {
  const TrainingOptions options = training_options(c);
  Result result = run_memory_row(c, options);
  count_trained(result.counters, *c.config, options);
  count_communication(result.counters, *c.config, c.arch(), options);
  count_speed(result.counters, c, options);
  return result;
}

}  // namespace

/// A training run of one rank among those of the row: on GPUs, this process's; on paper, the first,
/// which is as the others are, or each stage of a pipeline. Tokens are counted of all ranks.
Result run_multi_gpu(const Case& c, const RunApart&) {
  if (c.device != nullptr || !c.mesh().pipelined()) return run_rank(c);
  std::vector<Result> ranks;
  for (std::int64_t rank = 0; rank < c.ranks(); ++rank) {
    Case own = c;
    own.rank = rank;
    own.keeps_ledger = c.keeps_ledger && rank == 0;
    ranks.push_back(run_rank(own));
  }
  return of_ranks(std::move(ranks));
}

}  // namespace vramfit::bench
