#include "estimator/search.h"

#include <algorithm>

namespace vramfit {
namespace {

using Fits = std::function<bool(std::int64_t)>;

/// The answer between a size that fits and one that does not.
std::int64_t bisect(std::int64_t low, std::int64_t high, const Fits& fits) {
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

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
  return bisect(low, high, fits);
}

std::int64_t largest_near(std::int64_t guess, const Fits& fits, std::int64_t limit) {
  guess = std::clamp<std::int64_t>(guess, 0, limit);
  std::int64_t step = 1;
  if (guess > 0 && !fits(guess)) {
    std::int64_t high = guess;
    while (high - step > 0 && !fits(high - step)) {
      high -= step;
      step *= 2;
    }
    return bisect(std::max<std::int64_t>(high - step, 0), high, fits);
  }
  std::int64_t low = guess;
  while (low + step <= limit && fits(low + step)) {
    low += step;
    step *= 2;
  }
  return bisect(low, std::min(low + step, limit + 1), fits);
}

}  // namespace vramfit
