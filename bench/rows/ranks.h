#pragma once

#include <vector>

#include "bench/rows/result.h"

namespace vramfit::bench {

/// What several GPUs' runs of one row come to: the memory is that of the rank that takes most of
/// its card; what is sent and how much of it is not hidden are the most of any rank, speeds and
/// what a pipeline's stages wait the least, and ledgers are equal where every rank's is. The ledger
/// that is kept is the first rank's.
Result of_ranks(std::vector<Result> ranks);

}  // namespace vramfit::bench
