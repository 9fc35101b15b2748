#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/model/memory/replay.h"
#include "tests/model/published_models.h"
#include "tests/model/transformer/runs.h"

namespace vramfit {
namespace {

/// Training runs of every kind, and generation in both forms of attention.
std::vector<RunReport> every_kind_of_run() {
  std::vector<RunReport> reports;
  for (const std::string& name : every_kind_of_model()) {
    for (const TrainingOptions& options : every_kind_of_training()) {
      reports.push_back(trained(shallow(name), options));
    }
    for (const AttentionForm form : {AttentionForm::Flash, AttentionForm::Cublas}) {
      GenerationOptions options;
      options.attention = form;
      options.batch = 2;
      options.seq = 64;
      options.generate = 4;
      reports.push_back(generated(shallow(name), options));
    }
  }
  return reports;
}

TEST(LedgerOfRuns, AddsUp) {
  for (const RunReport& report : every_kind_of_run()) {
    const Replay truth = replay(report.events);
    EXPECT_EQ(truth.current.total(), 0U) << "something was never freed";
    EXPECT_EQ(report.peak.allocated, truth.peak);
    EXPECT_EQ(report.peak.by_category.total(), truth.peak);
    EXPECT_EQ(report.peak.stage, truth.peak_stage);
    EXPECT_EQ(report.peak.step, truth.peak_step);
    ASSERT_EQ(report.stages.size(), truth.stages.size());
    for (std::size_t i = 0; i < truth.stages.size(); ++i) {
      EXPECT_EQ(report.stages[i].peak, truth.stages[i].peak);
      EXPECT_EQ(report.stages[i].after, truth.stages[i].after);
      EXPECT_LE(report.stages[i].peak, report.peak.allocated);
    }
    EXPECT_EQ(report.missing, std::nullopt);
  }
}

// Stages are marks on the ledger: what lies outside them would be in no waterfall.
TEST(LedgerOfRuns, NothingIsAllocatedOutsideAStage) {
  for (const RunReport& report : every_kind_of_run()) {
    for (const Event& event : report.events) {
      if (event.kind == Event::Kind::Allocate) {
        ASSERT_NE(event.stage, Stage::Outside) << event.text();
      }
    }
  }
}

TEST(LedgerOfRuns, LiveBlocksNeverOverlapAndEachIsFreedOnce) {
  for (const RunReport& report : every_kind_of_run()) {
    std::map<std::uint64_t, std::uint64_t> live;  // offset → bytes
    for (const Event& event : report.events) {
      if (event.kind == Event::Kind::Allocate) {
        const auto next = live.lower_bound(event.offset);
        ASSERT_TRUE(next == live.end() ||
                    event.offset + std::max<std::uint64_t>(event.bytes, 1) <= next->first)
            << event.text();
        ASSERT_TRUE(next == live.begin() ||
                    std::prev(next)->first + std::prev(next)->second <= event.offset)
            << event.text();
        live[event.offset] = event.bytes;
        ASSERT_LE(event.offset + event.bytes, event.reserved) << event.text();
      } else if (event.kind == Event::Kind::Free) {
        const auto block = live.find(event.offset);
        ASSERT_TRUE(block != live.end() && block->second == event.bytes) << event.text();
        live.erase(block);
      }
    }
    EXPECT_TRUE(live.empty());
  }
}

TEST(RunReport, PeakOfAStepIsThatOfItsOwnStages) {
  RunReport report;
  const auto add = [&](int step, std::uint64_t peak) {
    StageRecord record{};
    record.step = step;
    record.peak = peak;
    report.stages.push_back(record);
  };
  add(0, 7);
  add(1, 5);
  add(1, 9);
  add(2, 4);
  EXPECT_EQ(report.peak_of_step(0), 7U);
  EXPECT_EQ(report.peak_of_step(1), 9U);
  EXPECT_EQ(report.peak_of_step(2), 4U);
  EXPECT_EQ(report.peak_of_step(3), 0U);
}

// The estimator's answer rests on this: capacity says whether a run completes, and nothing else.
TEST(LedgerOfRuns, ALimitedRunIsTheUnlimitedOneUpToWhereMemoryEnds) {
  TrainingOptions options;
  options.precision = DType::Fp16;
  options.batch = 4;
  options.seq = 512;
  const ModelConfig config = shallow("llama2-7b", 4);
  const RunReport whole = trained(config, options);
  std::set<std::uint64_t> capacities = {
      0, 1, 2 << 20, whole.reserved - 1, whole.reserved, whole.reserved + 1};
  for (const Event& event : whole.events) capacities.insert(event.reserved);

  for (const std::uint64_t capacity : capacities) {
    const RunReport report = dry_run(VirtualGpu{Arch{90}, capacity}, config, options, 3);
    if (capacity >= whole.reserved) {
      EXPECT_EQ(report.missing, std::nullopt);
      EXPECT_EQ(first_difference(report.events, whole.events), std::nullopt);
      continue;
    }
    ASSERT_TRUE(report.missing) << capacity << " of " << whole.reserved;
    EXPECT_LE(report.reserved, capacity);
    EXPECT_TRUE(report.stages.back().out_of_memory);
    EXPECT_EQ(report.stages.back().stage, report.missing->stage);

    std::size_t same = 0;
    while (report.events[same] == whole.events[same]) ++same;
    // The very next event needed more than the capacity.
    EXPECT_EQ(report.events[same].kind, Event::Kind::OutOfMemory) << report.events[same].text();
    EXPECT_EQ(whole.events[same].kind, Event::Kind::Allocate);
    EXPECT_GT(whole.events[same].reserved, capacity);
    EXPECT_EQ(report.missing->name.text(), whole.events[same].name.text());
    EXPECT_EQ(report.missing->requested, whole.events[same].bytes);
    EXPECT_EQ(report.missing->category, whole.events[same].category);
    EXPECT_EQ(report.missing->step, whole.events[same].step);
    // After it only what unwinding frees.
    for (std::size_t i = same + 1; i < report.events.size(); ++i) {
      EXPECT_TRUE(report.events[i].kind == Event::Kind::Free ||
                  report.events[i].kind == Event::Kind::StageEnd)
          << report.events[i].text();
    }
    EXPECT_EQ(replay(report.events).current.total(), 0U);
  }
  EXPECT_GT(capacities.size(), 20U);
}

}  // namespace
}  // namespace vramfit
