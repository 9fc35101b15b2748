#pragma once

#include <vector>

#include "estimator/ask/options.h"
#include "estimator/ask/surroundings.h"
#include "estimator/budget.h"

namespace vramfit {

/// The GPUs that a command line is about: the one it names, else one of the size it names, else
/// this machine's, else all of the catalogue. Throws BadInput.
std::vector<Budget> budgets_of(const Options& options, const Surroundings& surroundings);

}  // namespace vramfit
