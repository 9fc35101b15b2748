#include "estimator/search.h"

namespace vramfit {

std::int64_t largest_that_fits(const std::function<bool(std::int64_t)>& fits, std::int64_t limit) {
  if (limit < 1 || !fits(1)) return 0;
  std::int64_t low = 1;  // fits
  std::int64_t high = limit;
  // Doubling first: dry runs of sizes far past the answer would be slower, and could overflow.
  while (low < limit) {
    high = low > limit / 2 ? limit : 2 * low;
    if (!fits(high)) break;
    low = high;
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace vramfit
