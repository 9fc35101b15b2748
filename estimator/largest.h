#pragma once

#include "estimator/sized_runs.h"

namespace vramfit {

/// The largest size with which the request fits.
Largest find_largest(SizedRuns& runs);
/// Where what is around it does not matter.
Largest find_largest(Request request, const SearchAxis& axis,
                     std::uint64_t allowance = kSearchAllowance);

/// Around the answer, what the figures' uncertainty leaves open.
struct Band {
  std::int64_t surely = 0;    ///< of the sizes that FIT beyond doubt; 0: none does
  std::int64_t possibly = 0;  ///< of those that are not OOM; 0: none is
};

/// The largest of either kind: the next size is not of that kind any more. Sizes further above may
/// be again, and are not looked for. Where each run takes very long, the search for either ends
/// early, at a size of that kind below the largest.
Band band_around(const Largest& found, SizedRuns& runs);

}  // namespace vramfit
