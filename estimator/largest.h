#pragma once

#include "estimator/estimate.h"

namespace vramfit {

/// The largest batch, or sequence, with which the request fits, whatever its own is; 0 where not
/// even 1 does. One more never fits.
std::int64_t largest_batch(Request request);
std::int64_t largest_seq(Request request);

}  // namespace vramfit
