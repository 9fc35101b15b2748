#include "model/memory/host_memory.h"

#include <gtest/gtest.h>

#include "model/errors.h"
#include "model/memory/run_report.h"
#include "model/memory/tensor.h"
#include "runtimes/vramfit/virtual_device.h"

namespace vramfit {
namespace {

/// A card's ledger, and the host's beside it.
struct Memory {
  VirtualSource source;
  Pool pool{source};
  Ledger ledger{pool};
  VirtualSource host_source{2 * Pool::kGranularity};
  HostMemory host{host_source, ledger};
};

Tensor on_host(Ledger& ledger, std::int64_t bytes) {
  return {ledger.of(MemorySpace::Host), "m", Category::OptimizerState, DType::Int8, {bytes}};
}

TEST(HostMemory, IsInNoneOfTheCardsFigures) {
  Memory memory;
  const StageScope stage(memory.ledger, Stage::Optimizer, 1);
  const Tensor card(memory.ledger, "w", Category::Parameters, DType::Int8, {100});
  const std::size_t events = memory.ledger.events().size();
  const Tensor host = on_host(memory.ledger, 4000);
  EXPECT_EQ(memory.ledger.allocated(), 100U);
  EXPECT_EQ(memory.ledger.peak().allocated, 100U);
  EXPECT_EQ(memory.ledger.by_category()[Category::OptimizerState], 0U);
  EXPECT_EQ(memory.ledger.events().size(), events);
  EXPECT_EQ(memory.host.ledger().allocated(), 4000U);
  EXPECT_EQ(memory.host.ledger().reserved(), Pool::kGranularity);
}

TEST(HostMemory, HasTheCardsStages) {
  Memory memory;
  {
    const StageScope stage(memory.ledger, Stage::Optimizer, 3);
    const Tensor host = on_host(memory.ledger, 4000);
  }
  const std::vector<Event>& events = memory.host.ledger().events();
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].kind, Event::Kind::StageBegin);
  EXPECT_EQ(events[1].stage, Stage::Optimizer);
  EXPECT_EQ(events[1].step, 3);
  EXPECT_EQ(events[3].kind, Event::Kind::StageEnd);
}

TEST(HostMemory, IsInTheReportByItself) {
  Memory memory;
  { const Tensor card(memory.ledger, "w", Category::Parameters, DType::Int8, {100}); }
  EXPECT_EQ(report_of(memory.ledger).host.reserved, 0U) << "nothing is there yet";
  EXPECT_TRUE(report_of(memory.ledger).host.events.empty());
  { const Tensor host = on_host(memory.ledger, 4000); }
  const RunReport report = report_of(memory.ledger);
  EXPECT_EQ(report.peak.allocated, 100U);
  EXPECT_EQ(report.host.peak.allocated, 4000U);
  EXPECT_EQ(report.host.peak.by_category[Category::OptimizerState], 4000U);
  EXPECT_EQ(report.host.reserved, Pool::kGranularity);
  EXPECT_EQ(report.host.events.size(), 2U);
}

TEST(HostMemory, TwoRunsDifferWhereItDoes) {
  RunReport runs[2];
  for (int i = 0; i < 2; ++i) {
    Memory memory;
    { const Tensor host = on_host(memory.ledger, 4000 + i); }
    runs[i] = report_of(memory.ledger);
  }
  EXPECT_EQ(first_difference(runs[0], runs[0]), std::nullopt);
  EXPECT_EQ(first_difference(runs[0].events, runs[1].events), std::nullopt);
  const auto found = first_difference(runs[0], runs[1]);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rfind("host memory, event 0: ", 0), 0U) << *found;
}

TEST(HostMemory, ThereMustBeSomeToKeepThingsIn) {
  VirtualSource source;
  Pool pool(source);
  Ledger ledger(pool);
  EXPECT_THROW(ledger.of(MemorySpace::Host), std::logic_error);
  EXPECT_EQ(&ledger.of(MemorySpace::Device), &ledger);
}

// The card's is a result.
TEST(HostMemory, ThatRunsOutIsNoResult) {
  Memory memory;
  EXPECT_THROW(report_on(memory.ledger, [&] { on_host(memory.ledger, 1 << 24); }), OutOfMemory);
}

}  // namespace
}  // namespace vramfit
