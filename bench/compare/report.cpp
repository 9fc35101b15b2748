#include "bench/compare/report.h"

#include <array>

namespace vramfit::bench::compare {
namespace {

constexpr std::array<const char*, 13> kFacts = {"gpu",
                                                "driver",
                                                "cuda",
                                                "cublas",
                                                "cudnn",
                                                "nccl",
                                                "torch",
                                                "transformers",
                                                "commit",
                                                "device",
                                                "tf32",
                                                "cuda_module_loading",
                                                "other_processes"};

}  // namespace

std::vector<FactChange> fact_changes(const RunFile& before, const RunFile& after) {
  std::vector<FactChange> changes;
  for (const char* fact : kFacts) {
    const std::string old = before.fact(fact);
    const std::string now = after.fact(fact);
    if (old != now) changes.push_back({fact, old, now});
  }
  return changes;
}

std::vector<TimeChange> time_changes(const Report& report) {
  std::map<std::string, std::vector<double>> ratios;
  for (const RowChange& row : report.comparison.rows) {
    for (const Change& change : row.changes) {
      const bool both = change.before && change.after && *change.before > 0;
      if (change.kind == Kind::Time && both) {
        ratios[change.counter].push_back(*change.after / *change.before);
      }
    }
  }
  std::vector<TimeChange> changes;
  for (const auto& [counter, values] : ratios) {
    changes.push_back({counter, values.size(), quartiles_of(values)});
  }
  return changes;
}

}  // namespace vramfit::bench::compare
