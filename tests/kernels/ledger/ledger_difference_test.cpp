#include <gtest/gtest.h>
#include <sys/mman.h>

#include "model/transformer/run.h"
#include "runtimes/vramfit/dry_run.h"
#include "tests/kernels/support/accessible_bytes.h"
#include "tests/kernels/support/host_run.h"
#include "tests/kernels/support/tiny_models.h"

// The central test can fail: each way in which two runs may differ turns it red.

namespace vramfit {
namespace {

TrainingOptions options() {
  TrainingOptions result;
  result.seq = 3;
  return result;
}

std::vector<Event> virtual_events() {
  return dry_run({kAmpere}, tiny_llama(), options(), kThreeSteps).events;
}

TEST(LedgerDifference, OneEventChangedShows) {
  const std::vector<Event> events = virtual_events();
  ASSERT_EQ(first_difference(events, events), std::nullopt);
  const Event extra = {
      Event::Kind::Allocate, Stage::Decode, Category::KvCache, 9, "extra", 1, 2, 3};
  for (std::size_t i = 0; i < events.size(); i += 7) {
    SCOPED_TRACE(i);
    std::vector<Event> changed = events;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_NE(first_difference(events, changed), std::nullopt) << "missing";
    changed = events;
    changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(i), extra);
    EXPECT_NE(first_difference(events, changed), std::nullopt) << "extra";
    changed = events;
    changed[i].name = "renamed";
    EXPECT_NE(first_difference(events, changed), std::nullopt) << "renamed";
    changed = events;
    changed[i].bytes += 1;
    EXPECT_NE(first_difference(events, changed), std::nullopt) << "resized";
    changed = events;
    changed[i].offset += Pool::kAlignment;
    EXPECT_NE(first_difference(events, changed), std::nullopt) << "moved";
  }
  std::vector<Event> longer = events;
  longer.push_back(extra);
  EXPECT_NE(first_difference(events, longer), std::nullopt);
  EXPECT_NE(first_difference(longer, events), std::nullopt);
}

/// A device that allocates once, in the last optimizer step, what its op's contract does not name.
class GreedyDevice : public CpuDevice {
 public:
  explicit GreedyDevice(Ledger& ledger) : CpuDevice(kAmpere), ledger_(ledger) {}
  using CpuDevice::run;
  void run(const OptimizerStep& op) override {
    if (op.step == kThreeSteps) {
      const Tensor extra(ledger_, "extra", Category::Workspace, DType::Fp32, {1});
    }
    CpuDevice::run(op);
  }

 private:
  Ledger& ledger_;
};

TEST(LedgerDifference, ATensorThatNoContractNamesShows) {
  Host host(HostSource::kDefaultCapacity, kAmpere);
  GreedyDevice greedy(host.ledger);
  const RunReport real = run_training(greedy, host.ledger, tiny_llama(), options(), kThreeSteps);
  const std::optional<std::string> difference = first_difference(real.events, virtual_events());
  ASSERT_TRUE(difference.has_value());
  EXPECT_NE(difference->find("extra"), std::string::npos) << *difference;
  EXPECT_NE(difference->find("optimizer of step 3"), std::string::npos) << *difference;
}

/// The operating system's count of mapped bytes beside the pool's, at every stage mark.
class Witness : public LedgerObserver {
 public:
  Witness(const HostSource& source, const Pool& pool) : source_(source), pool_(pool) {}

  void stage_begins(Stage, int) override { look(); }
  void stage_ends(const StageRecord& record) override {
    EXPECT_EQ(record.reserved, pool_.reserved());
    look();
  }

  int looks = 0;
  int differences = 0;

 private:
  void look() {
    ++looks;
    if (accessible_bytes(source_.base(), source_.capacity()) != pool_.reserved()) ++differences;
  }

  const HostSource& source_;
  const Pool& pool_;
};

TEST(Witness, AgreesWithThePoolAtEveryStageMark) {
  for (const ModelConfig& config : tiny_models()) {
    Host host(HostSource::kDefaultCapacity, kAmpere);
    Witness witness(host.source, host.pool);
    host.ledger.set_observer(&witness);
    const RunReport report = run_training(host.device, host.ledger, config, options(), kThreeSteps);
    EXPECT_EQ(witness.looks, static_cast<int>(2 * report.stages.size()));
    EXPECT_EQ(witness.differences, 0);
    EXPECT_GT(report.reserved, 0U);
  }
}

/// A device that maps memory of the source without the pool, in the second step.
class MappingDevice : public CpuDevice {
 public:
  explicit MappingDevice(const HostSource& source) : CpuDevice(kAmpere), source_(source) {}
  using CpuDevice::run;
  void run(const OptimizerStep& op) override {
    std::byte* const end = source_.base() + source_.capacity();
    if (op.step == 2) mprotect(end - kBytes, kBytes, PROT_READ | PROT_WRITE);
    CpuDevice::run(op);
  }

 private:
  static constexpr std::uint64_t kBytes = 4096;
  const HostSource& source_;
};

TEST(Witness, NoticesAnAllocationBesideThePool) {
  Host host(HostSource::kDefaultCapacity, kAmpere);
  MappingDevice device(host.source);
  Witness witness(host.source, host.pool);
  host.ledger.set_observer(&witness);
  const RunReport real = run_training(device, host.ledger, tiny_llama(), options(), kThreeSteps);
  EXPECT_EQ(first_difference(real.events, virtual_events()), std::nullopt)
      << "the ledger cannot know";
  // From the end of step 2's optimizer on: its own mark, zero_grad's two, step 3's eight.
  EXPECT_EQ(witness.differences, 11);
}

}  // namespace
}  // namespace vramfit
