#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "model/transformer/run.h"
#include "runtimes/vramfit/dry_run.h"
#include "tests/kernels/support/host_run.h"
#include "tests/kernels/support/tiny_models.h"

namespace vramfit {
namespace {

std::size_t events_until_out_of_memory(const RunReport& report) {
  const auto is_the_end = [](const Event& event) { return event.kind == Event::Kind::OutOfMemory; };
  const auto end = std::find_if(report.events.begin(), report.events.end(), is_the_end);
  return static_cast<std::size_t>(end - report.events.begin()) + 1;
}

void expect_same_end(const RunReport& real, const RunReport& virtual_run) {
  ASSERT_TRUE(real.missing.has_value());
  ASSERT_TRUE(virtual_run.missing.has_value());
  ASSERT_EQ(events_until_out_of_memory(real), events_until_out_of_memory(virtual_run));
  // What is freed on the way out is the same as well.
  EXPECT_EQ(first_difference(real.events, virtual_run.events), std::nullopt);
  EXPECT_EQ(real.missing->name, virtual_run.missing->name);
  EXPECT_EQ(real.missing->requested, virtual_run.missing->requested);
  EXPECT_TRUE(real.stages.back().out_of_memory);
}

/// Runs with every capacity from none up to what the run needs; returns the stages, with their
/// steps, in which memory ran out.
template <typename RealRun, typename Options, typename... Steps>
std::set<std::pair<int, Stage>> run_at_every_capacity(const ModelConfig& config,
                                                      const Options& options,
                                                      const RealRun& real_run, Steps... steps) {
  const std::uint64_t needed = dry_run({kAmpere}, config, options, steps...).reserved;
  std::set<std::pair<int, Stage>> ends;
  for (std::uint64_t capacity = 0; capacity <= needed; capacity += Pool::kGranularity) {
    SCOPED_TRACE("capacity " + std::to_string(capacity) + " of " + std::to_string(needed));
    Host host(capacity, kAmpere);
    const RunReport real = real_run(host);
    const RunReport virtual_run = dry_run({kAmpere, capacity}, config, options, steps...);
    EXPECT_EQ(host.ledger.allocated(), 0U);
    if (capacity == needed) {
      EXPECT_FALSE(real.missing.has_value());
      EXPECT_EQ(first_difference(real.events, virtual_run.events), std::nullopt);
      break;
    }
    expect_same_end(real, virtual_run);
    if (real.missing) ends.emplace(real.missing->step, real.missing->stage);
  }
  return ends;
}

std::set<std::pair<int, Stage>> train_at_every_capacity(const ModelConfig& config,
                                                        const TrainingOptions& options) {
  constexpr int kSteps = 2;
  return run_at_every_capacity(
      config, options,
      [&](Host& host) { return run_training(host.device, host.ledger, config, options, kSteps); },
      kSteps);
}

TEST(OutOfMemory, InLoadingBackwardAndOptimizerIsTheSame) {
  ModelConfig config = tiny_llama();
  config.hidden = 128;
  config.ffn = 384;
  config.vocab = 2000;
  TrainingOptions options;
  options.precision = DType::Fp32;
  options.seq = 2;
  const auto ends = train_at_every_capacity(config, options);
  EXPECT_TRUE(ends.count({0, Stage::Loaded}));
  EXPECT_TRUE(ends.count({1, Stage::Backward}));
  EXPECT_TRUE(ends.count({1, Stage::Optimizer}));
}

TEST(OutOfMemory, InForwardAndBackwardIsTheSame) {
  ModelConfig config = tiny_gpt2();
  config.max_positions = 192;
  TrainingOptions options;
  options.precision = DType::Fp32;
  options.optimizer = optimizer_named("sgd");
  options.attention = AttentionForm::Cublas;
  options.batch = 3;
  options.seq = config.max_positions;
  const auto ends = train_at_every_capacity(config, options);
  EXPECT_TRUE(ends.count({1, Stage::Forward}));
  EXPECT_TRUE(ends.count({1, Stage::Backward}));
}

TEST(OutOfMemory, InPrefillIsTheSame) {
  ModelConfig config = tiny_llama();
  config.max_positions = 256;
  GenerationOptions options;
  options.precision = DType::Fp32;
  options.attention = AttentionForm::Cublas;
  options.batch = 3;
  options.seq = config.max_positions - 1;
  options.generate = 2;
  const auto ends = run_at_every_capacity(config, options, [&](Host& host) {
    return run_generation(host.device, host.ledger, config, options);
  });
  EXPECT_TRUE(ends.count({1, Stage::Prefill}));
}

}  // namespace
}  // namespace vramfit
