#pragma once

#include <cstdint>
#include <functional>

namespace vramfit {

/// The largest n of 1 to `limit` for which `fits`, or 0 where not even 1 does. `fits` must not
/// turn true again once it was false; it is called about 2·log2 of the answer times, never with
/// more than twice the answer.
std::int64_t largest_that_fits(const std::function<bool(std::int64_t)>& fits, std::int64_t limit);

/// The same from a guess on: two calls where it is right, few more where it is nearly so.
std::int64_t largest_near(std::int64_t guess, const std::function<bool(std::int64_t)>& fits,
                          std::int64_t limit);

}  // namespace vramfit
