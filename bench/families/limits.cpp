#include "bench/families/limits.h"

#include <fmt/format.h>

#include <string>

#include "bench/families/throughput.h"
#include "estimator/steady_run.h"
#include "model/errors.h"
#include "runtimes/vramfit/runtime.h"

namespace vramfit::bench {
namespace {

/// Walked one after the other where a real device runs them, each with its events.
constexpr std::int64_t kMostLayersInRow = 1 << 18;
/// Figures of PyTorch, which takes more, stay below what a ledger counts to.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;

bool trains(const Case& c) { return !c.row[Axis::Optimizer].empty(); }

StepOptions options_of(const Case& c) {
  if (trains(c)) return training_options(c);
  return generation_options(c);
}

/// The row's, as messages have them.
std::string sizes(const Case& c) {
  return fmt::format("sizes: {} with {} x {} tokens", c.config->name, c.size(Axis::Batch),
                     c.size(Axis::Seq));
}

void check_bytes(const Case& c) {
  const RunReport report =
      steady_run(StepWorkload(options_of(c)), c.gpu(), kMostBytes, *c.config, {.events = false})
          .report;
  if (!report.missing) return;
  throw BadInput(sizes(c) + " takes more than 2^50 bytes; smaller sizes");
}

/// What a real device runs, micro-batch by micro-batch and token by token.
void check_repetitions(const Case& c) {
  const Axis axis = trains(c) ? Axis::Accumulate : Axis::Generate;
  const std::int64_t most = kMostLayersInRow / c.config->layers;
  if (c.size(axis) <= most) return;
  throw BadInput(std::string(info(axis).flag) + ": is " + c.row[axis] + "; " + c.device->name() +
                 " runs each through the " + std::to_string(c.config->layers) + " layers of " +
                 c.config->name + ": at most " + std::to_string(most));
}

void check_flops(const Case& c) {
  const auto batch = static_cast<double>(c.size(Axis::Batch));
  const std::int64_t seq = c.size(Axis::Seq);
  const double tokens = trains(c) ? static_cast<double>(seq * c.size(Axis::Accumulate))
                                  : static_cast<double>(seq + c.size(Axis::Generate)) / 3;
  const double flops = batch * tokens * training_flops_per_token(*c.config, seq);
  if (flops <= c.device->most_flops()) return;
  throw BadInput(fmt::format("{} takes {:.2g} FLOPs; {} is given at most {:.2g}", sizes(c), flops,
                             c.device->name(), c.device->most_flops()));
}

}  // namespace

void check_limits(const Case& c) {
  check_bytes(c);
  if (c.device == nullptr) return;
  check_repetitions(c);
  check_flops(c);
}

}  // namespace vramfit::bench
