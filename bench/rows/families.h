#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/rows/axes.h"
#include "bench/rows/result.h"

namespace benchmark {
class State;
}

namespace vramfit::bench {

/// Runs a row in a process of its own.
using RunApart = std::function<Result(const Row&)>;

/// A kind of row: which axes it has, and what it runs.
struct RowFamily {
  const char* name;
  std::vector<Axis> axes;
  /// On a real device its run has a process of its own. Otherwise its run is one of other rows,
  /// which it starts apart.
  bool apart;
  void (*check)(const Case&);  ///< throws BadInput where no such run can be
  Result (*run)(const Case&, const RunApart&);
  /// The parts of its result, each a row of its own whose counters are called "<part>/…"; null
  /// where a case is one row. Families with parts time real devices, and have no rows on virtual
  /// ones.
  std::vector<std::string> (*parts)(const Case&) = nullptr;
};

/// The names of the case's rows.
std::vector<std::string> row_names(const Case& c);

/// The part of a family's result that is the row of this name.
Result part_of(const Result& whole, const Case& c, const std::string& row_name);

/// In the order in which they are registered.
const std::vector<RowFamily>& families();
/// Null where there is none of that name.
const RowFamily* find_family(const std::string& name);

/// A row that needs no run: its figures are known beforehand.
struct FixedRow {
  std::string name;
  Counters counters;
};

std::vector<FixedRow> article_rows();

/// A benchmark that is no row: of the estimator itself, how long an answer takes.
struct LatencyBenchmark {
  std::string name;
  std::function<void(::benchmark::State&)> run;
};

std::vector<LatencyBenchmark> latency_benchmarks();

// What families run; each is described where it is defined.
Result run_training(const Case& row, const RunApart& run_apart);
Result run_multi_gpu(const Case& row, const RunApart& run_apart);
Result run_inference(const Case& row, const RunApart& run_apart);
Result run_kv_cache(const Case& row, const RunApart& run_apart);
Result run_oom_cliff(const Case& row, const RunApart& run_apart);
Result run_batch_cliff(const Case& row, const RunApart& run_apart);
Result run_context_cliff(const Case& row, const RunApart& run_apart);
Result run_ops(const Case& row, const RunApart& run_apart);
std::vector<std::string> op_parts(const Case& row);

}  // namespace vramfit::bench
