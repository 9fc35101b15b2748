#pragma once

#include <string>

#include "estimator/dry_run/dry_run.h"

namespace vramfit::fit {

/// What `vramfit run` prints of a script's run: what ran, the sums, the verdict, its stages, and
/// what it rests on. At most 100 columns.
std::string dry_run_text(const DryRun& run, bool colours);

}  // namespace vramfit::fit
