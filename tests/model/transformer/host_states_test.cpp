#include <gtest/gtest.h>

#include "model/errors.h"
#include "model/memory/host_memory.h"
#include "runtimes/vramfit/virtual_device.h"
#include "tests/model/published_models.h"
#include "tests/model/transformer/runs.h"

namespace vramfit {
namespace {

TrainingOptions with(const char* optimizer) {
  TrainingOptions options;
  options.optimizer = optimizer_named(optimizer);
  options.batch = 4;
  options.seq = 512;
  return options;
}

/// What a slotful of 16-bit weights and gradients takes, three times, and the loss scale's copy.
constexpr std::uint64_t kSlots = 3 * 2 * 2 * (4ULL << 20) + 256;

std::uint64_t stored(const ModelConfig& config) {
  return static_cast<std::uint64_t>(stored_parameter_count(config));
}

TEST(HostStates, AreOffTheCardToTheByte) {
  const ModelConfig config = published("llama2-7b");
  const RunReport on_card = trained(config, with("adamw"), 2);
  const RunReport on_host = trained(config, with("adamw-cpu"), 2);
  for (const int step : {1, 2}) {
    const StageRecord there = stage_of(on_card, Stage::Optimizer, step);
    const StageRecord here = stage_of(on_host, Stage::Optimizer, step);
    EXPECT_EQ(here.at_end[Category::OptimizerState], 0U);
    EXPECT_EQ(there.after - here.after, 8 * stored(config));
  }
  EXPECT_EQ(on_host.host.peak.by_category[Category::OptimizerState], 8 * stored(config));
  EXPECT_EQ(on_host.host.peak.by_category[Category::Workspace], kSlots);
  EXPECT_EQ(on_host.host.peak.allocated, 8 * stored(config) + kSlots);
  EXPECT_LT(on_host.host.reserved, on_host.host.peak.allocated + (4U << 20)) << "rounded up";
  EXPECT_TRUE(on_card.host.events.empty());
}

// A copy must lie in memory that was page-locked at one time: the slots are there first.
TEST(HostStates, ComeBehindTheSlotsAndStay) {
  const RunReport report = trained(shallow("llama2-7b"), with("adamw-cpu"), 3);
  std::size_t allocations = 0;
  for (const Event& event : report.host.events) {
    if (event.kind != Event::Kind::Allocate) continue;
    if (allocations++ == 0) {
      EXPECT_EQ(event.name.text(), "host_slots");
      EXPECT_EQ(event.offset, 0U);
    }
    EXPECT_EQ(event.stage, Stage::Optimizer);
    EXPECT_EQ(event.step, 1) << "page-locking takes time";
  }
  EXPECT_EQ(allocations, 1 + 2 * parameter_specs(shallow("llama2-7b")).size());
}

TEST(HostStates, OfAdaptersAreOfAdaptersAlone) {
  const ModelConfig config = published("llama2-7b");
  TrainingOptions options = with("adamw-cpu");
  options.lora = LoraOptions{16, 16.0F, usual_lora_targets(config)};
  const RunReport report = trained(config, options, 2);
  EXPECT_EQ(report.host.peak.by_category[Category::OptimizerState], 8 * std::uint64_t{8'388'608});
}

TEST(HostStates, SlotsOfAFewParametersAreAsSmall) {
  const HostSlots slots(DType::Bf16, 1000);
  EXPECT_EQ(slots.elements, 1024);
  EXPECT_EQ(slots.gradients(1) - slots.weights(1), 2048U);
  EXPECT_EQ(slots.weights(2) - slots.gradients(1), 2048U);
  EXPECT_EQ(slots.bytes(), 6 * 2048U + 256);
}

TEST(HostStates, AMachineWithoutThatMuchMemorySaysSo) {
  const ModelConfig config = published("llama2-7b");
  VirtualSource source;
  Pool pool(source);
  Ledger ledger(pool);
  VirtualSource host_source(std::uint64_t{8} << 30);
  const HostMemory host(host_source, ledger);
  VirtualDevice device(Arch{90});
  try {
    run_training(device, ledger, config, with("adamw-cpu"));
    FAIL() << "54 GB are not 8 GiB";
  } catch (const BadInput& error) {
    EXPECT_STREQ(error.what(),
                 "optimizer: adamw-cpu keeps 53957656832 bytes in the host's memory; this machine "
                 "has 8589934592 to spare: adamw-8bit, or --lora 16");
  }
}

}  // namespace
}  // namespace vramfit
