#include "bench/families/op_times.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include "bench/devices/timing.h"
#include "bench/families/watched_device.h"
#include "runtimes/vramfit/virtual_memory.h"

namespace vramfit::bench {
namespace {

constexpr int kIssued = 5;

/// Host seconds from the first op's call to the last one's return, waits for a full launch queue
/// included. Where it is less than the device takes, launches are hidden behind work.
double issue_seconds(const std::function<void()>& step, Device& device) {
  std::vector<double> seconds;
  for (int i = 0; i < kIssued; ++i) {
    device.synchronize();
    const auto start = std::chrono::steady_clock::now();
    step();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    seconds.push_back(took.count());
  }
  return median(std::move(seconds));
}

/// Each op's median over steps; `laps` has all steps' ops one after the other.
std::vector<double> medians(const std::vector<double>& laps, std::size_t ops) {
  std::vector<double> seconds;
  for (std::size_t op = 0; op < ops; ++op) {
    std::vector<double> of_op;
    for (std::size_t i = op; i < laps.size(); i += ops) of_op.push_back(laps[i]);
    seconds.push_back(median(std::move(of_op)));
  }
  return seconds;
}

}  // namespace

double bound_seconds(const OpCost& cost, const Rates& rates) {
  return std::max(static_cast<double>(cost.bytes) / rates.bytes_per_second,
                  cost.flops / rates.flops_per_second);
}

std::vector<OpTotal> totals(const std::vector<OpCost>& ops, const std::vector<double>& seconds,
                            const Rates& rates) {
  std::vector<OpTotal> list;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const std::string label = ops[i].label();
    auto total = std::find_if(list.begin(), list.end(),
                              [&](const OpTotal& known) { return known.label == label; });
    if (total == list.end()) {
      list.push_back({label});
      total = list.end() - 1;
    }
    ++total->calls;
    total->bytes += static_cast<double>(ops[i].bytes);
    total->flops += ops[i].flops;
    total->bound_seconds += bound_seconds(ops[i], rates);
    total->seconds += seconds[i];
  }
  return list;
}

StepTimes time_ops(Device& device, Ledger& ledger, Stopwatch& clock, const ModelConfig& config,
                   const TrainingOptions& options, const Rates& rates, double budget) {
  std::vector<OpCost> ops;
  bool watching = false;
  WatchedDevice watched(device, [&](const OpCost& cost) {
    if (!watching) return;
    ops.push_back(cost);
    clock.lap();
  });
  Trainer trainer(watched, ledger, config, options);
  const BatchLoader batches = random_batches(config.vocab, kSeed);
  StepTimes times;
  const auto step = [&] { trainer.step(batches); };
  times.seconds = seconds_of(step, device, clock, budget);
  times.issue_seconds = issue_seconds(step, device);

  const int steps = repetitions(times.seconds, budget);
  watching = true;
  clock.lap();
  for (int i = 0; i < steps; ++i) {
    ops.clear();
    step();
  }
  times.ops = totals(ops, medians(clock.laps(), ops.size()), rates);
  return times;
}

std::vector<OpCost> step_ops(Arch arch, const ModelConfig& config, const TrainingOptions& options) {
  VirtualMemory memory;
  VirtualDevice device(arch);
  std::vector<OpCost> ops;
  WatchedDevice watched(device, [&](const OpCost& cost) { ops.push_back(cost); });
  Trainer trainer(watched, memory.ledger(), config, options);
  ops.clear();  // what loading took
  trainer.step(random_batches(config.vocab, kSeed));
  return ops;
}

}  // namespace vramfit::bench
