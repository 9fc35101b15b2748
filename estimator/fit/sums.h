#pragma once

#include <string>

#include "estimator/estimate.h"

namespace vramfit::fit {

/// What memory goes to at the peak: a bar for each component, and the sums from what tensors take
/// to what a card must have, set against what it has.
std::string sums(const Estimate& estimate, const Budget& budget);

}  // namespace vramfit::fit
