#include "bench/command/plan.h"

#include <iostream>

#include "bench/families/overhead.h"
#include "bench/rows/sweep.h"
#include "model/errors.h"

namespace vramfit::bench {
namespace {

Selection select_rows(const BenchOptions& options, const Filter& filter, Target& target,
                      Models& models) {
  const auto entries = options.sweep ? read_sweep(*options.sweep) : default_sweep();
  Selection selection = select(expand(entries, options.axes), options.axes, filter, target, models);
  for (const auto& [why, rows] : selection.left_out) {
    std::cerr << "bench: " << rows << (rows == 1 ? " row" : " rows") << " left out: " << why
              << "\n";
  }
  return selection;
}

}  // namespace

std::vector<std::string> Plan::names() const {
  std::vector<std::string> names = overhead;
  for (const Case& c : selection.cases) {
    for (const std::string& name : rows_of(c)) names.push_back(name);
  }
  for (const FixedRow& row : article) names.push_back(row.name);
  for (const LatencyBenchmark& row : latency) names.push_back(row.name);
  return names;
}

std::vector<std::string> Plan::rows_of(const Case& c) const {
  std::vector<std::string> selected;
  for (const std::string& name : row_names(c)) {
    if (filter.selects(name)) selected.push_back(name);
  }
  return selected;
}

Plan make_plan(const BenchOptions& options, Target& target, Models& models) {
  const Filter filter(options.google.filter);
  Plan plan{filter, select_rows(options, filter, target, models), {}, {}, {}};
  for (Case& c : plan.selection.cases) c.keeps_ledger = !options.ledgers.empty();
  if (target.is_gpu()) {
    for (const std::string& name : OverheadRows::names()) {
      if (filter.selects(name)) plan.overhead.push_back(name);
    }
  }
  for (const FixedRow& row : article_rows()) {
    if (filter.selects(row.name)) plan.article.push_back(row);
  }
  for (const LatencyBenchmark& latency : latency_benchmarks()) {
    if (filter.selects(latency.name)) plan.latency.push_back(latency);
  }
  if (!plan.names().empty()) return plan;
  if (plan.selection.needs_device != nullptr) {
    throw BadInput(std::string("device: ") + plan.selection.needs_device->name +
                   " times a real device, and " + target.name() +
                   " is none; --device=cuda, or --device=cpu with a tiny --config");
  }
  for (const std::string& name : OverheadRows::names()) {
    if (!filter.selects(name)) continue;
    throw BadInput("benchmark_filter: Overhead is measured on a GPU, and " + target.name() +
                   " is none; --device=cuda where one is");
  }
  throw BadInput("benchmark_filter: '" + options.google.filter +
                 "' matches no row; --benchmark_list_tests lists them");
}

}  // namespace vramfit::bench
