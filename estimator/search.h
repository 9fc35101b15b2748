#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace vramfit {

/// The largest n of 1 to `limit` for which `fits`, or 0 where not even 1 does, from a guess on: two
/// calls where it is right, few more where it is nearly so. `fits` must not turn true again once it
/// was false.
std::int64_t largest_near(std::int64_t guess, const std::function<bool(std::int64_t)>& fits,
                          std::int64_t limit);

/// What a size leaves.
struct Point {
  std::int64_t size = 0;
  double slack = 0.0;
};

/// A size that leaves some slack (0 or more), and one above it that does not.
struct Bracket {
  std::optional<Point> low;
  std::optional<Point> high;
};

/// A size of 1 to `limit` that leaves some slack where the next one does not, within what is
/// `known`, or near a guess; 0 where none was found. Few calls where the slack shrinks nearly in a
/// line. Where `spent`, the next one may leave some too.
std::int64_t edge_near(std::int64_t guess, const std::function<double(std::int64_t)>& slack,
                       std::int64_t limit, const std::function<bool()>& spent,
                       const Bracket& known = {});

/// What a run of one size came to.
struct Trial {
  bool fits = false;
  double reserved = 0.0;  ///< of what the card has, where it fits
};

/// What a search asks about sizes.
struct Trials {
  /// What tensors take at least, of what the card has: above 1 no run fits. Grows with the size,
  /// but for a dip of a few percent, and for the smallest sizes, which may take another path.
  std::function<double(std::int64_t)> least;
  std::function<Trial(std::int64_t)> run;
  std::function<bool()> spent;  ///< no more may be tried
  /// Each is dear: no holes are looked for, and wide steps are enough.
  bool few = false;
  std::function<bool()> exhausted = [] { return false; };  ///< nor may any be to find an edge
};

/// The largest size that fits, and those below it that do not: what an allocator reserves is no
/// monotonic function of the size.
struct Largest {
  std::int64_t size = 0;  ///< 0: none fits
  /// Those below `size` that do not fit, ascending; absent where the search ended before.
  std::optional<std::vector<std::int64_t>> holes;
  /// Sizes were tried in steps of this: 1 means that no larger one fits and that, where holes are
  /// known, none is missing.
  std::int64_t step = 1;
  /// The size that those steps go down from: tensors alone have no room in larger ones. Absent
  /// where not every step was tried.
  std::optional<std::int64_t> from = {};
  /// The smallest size above that was tried and does not fit; 0 where the search ended at its
  /// limit.
  std::int64_t next = 0;

  /// Sizes up to it all fit. Only where holes are known.
  std::int64_t without_holes() const {
    return holes->empty() ? size : std::max<std::int64_t>(holes->front() - step, 0);
  }
};

/// Searches 1 to `limit`, down from where tensors alone have no room. Answers up to 1,024 are
/// exact, of larger ones sizes are tried in steps of less than 1 %, between which few may fit,
/// unless `spent` ends the search; of few trials in those of a 16th, and then up to the next that
/// does not fit. Below the answer the search for holes ends where what is reserved has stayed clear
/// of the card's size for long enough.
Largest largest_and_holes(std::int64_t limit, const Trials& trials);

}  // namespace vramfit
