#pragma once

#include <vector>

#include "estimator/ask/environment.h"
#include "estimator/ask/options.h"
#include "estimator/budget.h"

namespace vramfit {

/// The GPUs that a command line is about: the one it names, else one of the size it names, else
/// this machine's, else all of the catalogue. Throws BadInput.
std::vector<Budget> budgets_of(const FitOptions& options, const Environment& environment);

}  // namespace vramfit
