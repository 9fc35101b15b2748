#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/compare/comparison.h"
#include "bench/compare/moved.h"
#include "bench/compare/quartiles.h"
#include "bench/compare/shares.h"

namespace vramfit::bench::compare {

/// A fact of the context in which the runs differ: "cudnn", "9.14.0", "9.19.0".
struct FactChange {
  std::string fact;
  std::string before;
  std::string after;
};

/// Everything that is to be said of two runs.
struct Report {
  RunFile before;
  RunFile after;
  Rules rules;
  bool passes = false;
  Comparison comparison;
  std::vector<FactChange> facts;
  std::vector<Share> shares;
  std::map<std::string, Moved> moved;  ///< by row, where both ledgers are kept and differ
};

std::vector<FactChange> fact_changes(const RunFile& before, const RunFile& after);

/// Of a time in all rows that have it in both runs: NEW over OLD.
struct TimeChange {
  std::string counter;
  std::size_t rows = 0;
  Quartiles ratio{};
};
std::vector<TimeChange> time_changes(const Report& report);

/// For a terminal: what changed, row by row, then the sums. `all`: each counter of each row.
std::string table_text(const Report& report, bool all);
/// For a pull request.
std::string markdown_text(const Report& report);
/// docs/schemas/compare.schema.json.
std::string json_text(const Report& report);

/// NEW's figures as bencher.dev reads them (Bencher Metric Format).
std::string bmf_text(const RunFile& run);
/// As github-action-benchmark's customSmallerIsBetter: bytes alone, of which less is better.
std::string smaller_is_better_text(const RunFile& run);

}  // namespace vramfit::bench::compare
