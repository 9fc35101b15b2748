#pragma once

#include "estimator/estimate.h"
#include "estimator/search.h"

namespace vramfit {

/// Allocations that one search may walk: one or two seconds of one core.
inline constexpr std::uint64_t kSearchAllowance = 3'000'000;

/// The largest batch, or sequence, with which the request fits, whatever its own is.
Largest largest_batch(Request request, std::uint64_t allowance = kSearchAllowance);
Largest largest_seq(Request request, std::uint64_t allowance = kSearchAllowance);

}  // namespace vramfit
