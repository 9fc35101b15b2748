#pragma once

#include <string>

#include "estimator/estimate.h"

namespace vramfit::fit {

/// Allocated memory stage by stage: of step 1, of which an article's waterfall is made, and in one
/// line of the steps after it, where training has its peak.
std::string waterfall(const Estimate& estimate);

}  // namespace vramfit::fit
