#include <algorithm>
#include <stdexcept>

#include "bench/families/memory_row.h"
#include "bench/families/op_times.h"
#include "bench/rows/families.h"

namespace vramfit::bench {
namespace {

/// The name of the part that covers all ops together.
constexpr const char* kStep = "step";

void count_op(Counters& counters, const OpTotal& op) {
  const auto set = [&](const char* name, double value) {
    counters.set(op.label + "/" + name, value);
  };
  set("seconds", op.seconds);
  set("bound_seconds", op.bound_seconds);
  set("of_bound", op.bound_seconds / op.seconds);
  set("calls", op.calls);
  set("bytes", op.bytes);
  set("flops", op.flops);
}

void count_step(Counters& counters, const StepTimes& times, const Rates& rates, double tokens) {
  OpTotal sum{kStep};
  for (const OpTotal& op : times.ops) {
    sum.calls += op.calls;
    sum.bytes += op.bytes;
    sum.flops += op.flops;
    sum.bound_seconds += op.bound_seconds;
    sum.seconds += op.seconds;
  }
  counters.set("step/ops_seconds", sum.seconds);
  counters.set("step/issue_seconds", times.issue_seconds);
  sum.seconds = times.seconds;
  count_op(counters, sum);
  counters.set("step/tokens_per_second", tokens / times.seconds);
  counters.set("step/bytes_per_second", rates.bytes_per_second);
  counters.set("step/flops_per_second", rates.flops_per_second);
}

}  // namespace

/// Of a step of two layers and two micro-batches: all others repeat their ops.
std::vector<std::string> op_parts(const Case& c) {
  TrainingOptions options = training_options(c);
  options.batch = 1;
  options.accumulate = std::min<std::int64_t>(options.accumulate, 2);
  ModelConfig config = *c.config;
  config.layers = std::min<std::int64_t>(config.layers, 2);
  const std::vector<OpCost> ops = step_ops(c.arch(), config, options);
  std::vector<std::string> parts;
  for (const OpTotal& op : totals(ops, std::vector<double>(ops.size()), {1, 1})) {
    parts.push_back(op.label);
  }
  parts.emplace_back(kStep);
  return parts;
}

/// A training step op by op, each beside the bound that the device's own rates put to it.
Result run_ops(const Case& c, const RunApart&) {
  const TrainingOptions options = training_options(c);
  const double budget = c.device->measuring().speed_seconds;
  if (budget <= 0) throw std::runtime_error("nothing is timed with --speed-seconds=0");
  const Rates rates = c.device->rates(options.precision.activations, budget / 4);
  Result result;
  c.device->time(c.capacity(), [&](Device& device, Ledger& ledger, Stopwatch& clock) {
    const StepTimes times = time_ops(device, ledger, clock, *c.config, options, rates, budget);
    for (const OpTotal& op : times.ops) count_op(result.counters, op);
    count_step(result.counters, times, rates,
               static_cast<double>(options.batch * options.seq * options.accumulate));
  });
  result.label = evidence(c);
  return result;
}

}  // namespace vramfit::bench
