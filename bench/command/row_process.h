#pragma once

#include "bench/command/options.h"

namespace vramfit::bench {

/// The life of a process that another one started for one row: runs it and answers. What goes wrong
/// on the way is the answer.
void run_row_process(const Options& options);

}  // namespace vramfit::bench
