#pragma once

#include <functional>
#include <string>

#include "bench/rows/case.h"
#include "bench/rows/counters.h"
#include "bench/rows/families.h"
#include "estimator/sized_runs.h"
#include "runtimes/vramfit/options.h"

namespace vramfit::bench {

/// The largest size with which a row of another family fits its card.
struct Cliff {
  const char* family;
  StepOptions options;
  SearchAxis axis;

  /// "max_batch" or "max_seq".
  std::string counter() const { return "max_" + std::string(axis.name); }
};

/// pred_, mem_ and pytorch_max_…, and what is taken there; what size 1 would take, with oom = 1,
/// where none fits. On a real device the largest is found by running, from the predicted one on.
Result run_cliff(const Case& row, Cliff cliff, const RunApart& run_apart);

/// <source>_cliff_base, what tensors take at size 1, and <source>_cliff_slope, what the last of the
/// largest size adds, or of 2 where that is smaller.
void count_curve(Counters& counters, const std::string& source, std::int64_t largest,
                 const std::function<std::uint64_t(std::int64_t)>& allocated);

}  // namespace vramfit::bench
