#pragma once

#include "bench/command/options.h"

namespace vramfit::bench {

/// Runs the one row that this process was started for, and hands the result, or the error, to the
/// process that waits for it.
void run_row_process(const BenchOptions& options);

}  // namespace vramfit::bench
