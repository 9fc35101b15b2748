#pragma once

#include <vector>

#include "bench/rows/result.h"

namespace vramfit::bench {

/// What several GPUs' runs of one row come to: of what each took the most, of speeds the least, and
/// ledgers are equal where every rank's is. The rest is the first rank's, its ledger too.
Result of_ranks(std::vector<Result> ranks);

}  // namespace vramfit::bench
