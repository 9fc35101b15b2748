#pragma once

#include "estimator/estimate.h"
#include "estimator/search.h"

namespace vramfit {

/// Allocations that one search may walk: one or two seconds of one core.
inline constexpr std::uint64_t kSearchAllowance = 3'000'000;

/// What is searched for: the number of sequences, or their length.
enum class Size : std::uint8_t { Batch, Seq };

void set_size(Request& request, Size which, std::int64_t size);

/// The largest size that is tried: of sequences the model's own limit too. Less than 1 where what
/// is generated leaves no room.
std::int64_t size_limit(const Request& request, Size which);

/// The largest size with which the request fits, whatever its own is.
Largest find_largest(Request request, Size which, std::uint64_t allowance = kSearchAllowance);

/// Around the answer, what the figures' uncertainty leaves open.
struct Band {
  std::int64_t surely = 0;    ///< of the sizes that FIT beyond doubt; 0: none does
  std::int64_t possibly = 0;  ///< of those that are not OOM; 0: none is
};

/// The largest of either kind, from the largest that fits on: of larger sizes in steps of a part of
/// it, so that few are tried.
Band band_around(const Largest& found, Request request, Size which);

}  // namespace vramfit
