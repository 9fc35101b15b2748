#pragma once

#include <string>

#include "bench/rows/case.h"
#include "bench/rows/result.h"
#include "runtimes/vramfit/options.h"

namespace vramfit::bench {

/// Runs the workload, or predicts it where there is no device to run it on. All counters that a
/// memory row has: predictions without a limit, so that they say what would be needed, what was
/// measured within the card's, and `oom`. The time is that of the run: of the dry run on a virtual
/// card.
Result run_memory_row(const Case& row, const StepOptions& options);

/// How a row's figures came about: "predicted, virtual:h200". First in every label.
std::string evidence(const Case& row);

}  // namespace vramfit::bench
