#pragma once

#include <optional>
#include <string>

#include "bench/case.h"
#include "estimator/workload.h"

namespace benchmark {
class State;
}

namespace vramfit::bench {

/// What a row's run came to.
struct Outcome {
  RunReport predicted;                  ///< without a limit, so that it says what would be needed
  std::optional<Measurement> measured;  ///< of as many steps as the prediction took
};

/// Runs the workload once for each iteration and sets all counters that a memory row has, `oom` and
/// the label. The time shown is that of the run: of the dry run on a virtual card.
Outcome run_memory_row(::benchmark::State& state, const Case& row, const Workload& workload);

/// How a row's figures came about: "predicted, virtual:h200". First in every label.
std::string evidence(const Case& row);

}  // namespace vramfit::bench
