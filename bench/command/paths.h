#pragma once

#include "bench/command/options.h"

namespace vramfit::bench {

/// Throws BadInput where two flags name the same file and one of them writes it.
void require_distinct_files(const BenchOptions& options);

}  // namespace vramfit::bench
