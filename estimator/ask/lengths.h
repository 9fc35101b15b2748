#pragma once

#include "estimator/ask/environment.h"
#include "estimator/ask/options.h"

namespace vramfit {

/// Where --lengths names a file of samples, the same question of the longest: as --seq, or cut to
/// the one that is given. Throws BadInput where nobody reads files.
FitOptions of_longest_sample(FitOptions options, const Environment& environment);

}  // namespace vramfit
