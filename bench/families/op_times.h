#pragma once

#include <string>
#include <vector>

#include "bench/devices/real_device.h"
#include "model/ops/cost.h"
#include "model/transformer/training.h"

namespace vramfit::bench {

/// All calls in a training step of the ops of one label, one after the other.
struct OpTotal {
  std::string label;
  int calls = 0;
  double bytes = 0;
  double flops = 0;
  double bound_seconds = 0;  ///< what a device takes that sustains the rates
  double seconds = 0;        ///< that it took
};

/// The least seconds an op can take: its bound by the device's rates.
double bound_seconds(const OpCost& cost, const Rates& rates);

/// `ops` in order of their first call; seconds[i] is what ops[i] took.
std::vector<OpTotal> totals(const std::vector<OpCost>& ops, const std::vector<double>& seconds,
                            const Rates& rates);

/// A training step seen op by op.
struct StepTimes {
  double seconds = 0;        ///< of a step that nobody watches, median
  double issue_seconds = 0;  ///< that the host takes at most to give an idle device a step, median
  std::vector<OpTotal> ops;
};

/// Trains for about `budget` seconds unwatched, and as long with a lap after each op: the time of
/// an op is the median over steps, and includes what the device waited for it.
StepTimes time_ops(Device& device, Ledger& ledger, Stopwatch& clock, const ModelConfig& config,
                   const TrainingOptions& options, const Rates& rates, double budget);

/// A training step's ops, in order, by a dry run. Throws BadInput where it cannot be.
std::vector<OpCost> step_ops(Arch arch, const ModelConfig& config, const TrainingOptions& options);

}  // namespace vramfit::bench
