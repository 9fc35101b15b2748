#pragma once

#include <string>
#include <vector>

#include "bench/command/models.h"
#include "bench/command/options.h"
#include "bench/command/selection.h"
#include "bench/rows/families.h"
#include "bench/rows/filter.h"
#include "bench/rows/target.h"

namespace vramfit::bench {

/// Everything that is to run.
struct Plan {
  Filter filter;
  Selection selection;
  std::vector<std::string> overhead;
  std::vector<FixedRow> article;
  std::vector<LatencyBenchmark> latency;

  /// Of all rows, in the order in which they run.
  std::vector<std::string> names() const;
  /// Of the case's rows those that the filter selects.
  std::vector<std::string> rows_of(const Case& c) const;
};

/// Says on stderr which rows are left out. Throws BadInput where none is left.
Plan make_plan(const BenchOptions& options, Target& target, Models& models);

}  // namespace vramfit::bench
