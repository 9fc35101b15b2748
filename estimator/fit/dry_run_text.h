#pragma once

#include <string>

#include "estimator/dry_run/dry_run.h"

namespace vramfit::fit {

/// What `vramfit run` prints of a script's run: what ran, the sums, the verdict, its stages, and
/// what it rests on. At most 100 columns. `top`: so many of the lines that held most at the peak.
std::string dry_run_text(const DryRun& run, std::size_t top, bool colours);

}  // namespace vramfit::fit
