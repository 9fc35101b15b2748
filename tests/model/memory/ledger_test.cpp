#include "model/memory/ledger.h"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

#include "tests/model/memory/bump_allocator.h"
#include "tests/model/memory/replay.h"

namespace vramfit {
namespace {

constexpr Category kAllCategories[] = {
    Category::Parameters, Category::Gradients, Category::OptimizerState, Category::Activations,
    Category::KvCache,    Category::Workspace, Category::Inputs,         Category::Communication};

void expect_same(const CategoryBytes& a, const CategoryBytes& b) {
  for (const Category category : kAllCategories)
    EXPECT_EQ(a[category], b[category]) << name(category);
}

TEST(Ledger, CountsEachCategoryAndTheirSum) {
  BumpAllocator memory;
  Ledger ledger(memory);
  std::uint64_t bytes = 1;
  std::uint64_t sum = 0;
  for (const Category category : kAllCategories) {
    ledger.allocate("t", category, bytes);
    sum += bytes;
    bytes *= 10;
  }
  EXPECT_EQ(ledger.allocated(), sum);
  EXPECT_EQ(ledger.by_category().total(), sum);
  bytes = 1;
  for (const Category category : kAllCategories) {
    EXPECT_EQ(ledger.by_category()[category], bytes) << name(category);
    bytes *= 10;
  }
}

TEST(Ledger, GivesBackWhatItWasGiven) {
  BumpAllocator memory;
  Ledger ledger(memory);
  const Block a = ledger.allocate("a", Category::Gradients, 100);
  const Block b = ledger.allocate("b", Category::Gradients, 20);
  EXPECT_EQ(a.offset, 0U);
  EXPECT_EQ(b.offset, 100U);
  ledger.free("a", Category::Gradients, 100, a);
  EXPECT_EQ(ledger.allocated(), 20U);
  EXPECT_EQ(ledger.by_category()[Category::Gradients], 20U);
  EXPECT_EQ(memory.freed, (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(ledger.reserved(), 120U);
}

TEST(Ledger, PeakIsOneMomentOfAllCategories) {
  BumpAllocator memory;
  Ledger ledger(memory);
  ledger.begin_stage(Stage::Forward, 1);
  const Block activations = ledger.allocate("a", Category::Activations, 1000);
  ledger.end_stage();
  ledger.begin_stage(Stage::Backward, 2);
  const Block gradients = ledger.allocate("g", Category::Gradients, 50);  // the peak: 1050
  ledger.free("a", Category::Activations, 1000, activations);
  ledger.end_stage();
  ledger.begin_stage(Stage::Optimizer, 3);
  ledger.allocate("w", Category::Workspace, 1000);  // 1050 again, which is no more
  ledger.free("g", Category::Gradients, 50, gradients);
  ledger.end_stage();

  const MemoryUse& peak = ledger.peak();
  EXPECT_EQ(peak.allocated, 1050U);
  EXPECT_EQ(peak.by_category.total(), 1050U);
  EXPECT_EQ(peak.by_category[Category::Activations], 1000U);
  EXPECT_EQ(peak.by_category[Category::Gradients], 50U);
  EXPECT_EQ(peak.by_category[Category::Workspace], 0U);
  EXPECT_EQ(peak.stage, Stage::Backward);
  EXPECT_EQ(peak.step, 2);
}

TEST(Ledger, StagesSayWhatWasThereBeforeWhatWasLeftAndTheMostBetween) {
  BumpAllocator memory;
  Ledger ledger(memory);
  ledger.allocate("before", Category::Parameters, 7);
  ledger.begin_stage(Stage::Prefill, 1);
  const Block passing = ledger.allocate("passing", Category::Workspace, 100);
  ledger.free("passing", Category::Workspace, 100, passing);
  ledger.allocate("kept", Category::KvCache, 30);
  ledger.end_stage();
  ledger.allocate("between", Category::Inputs, 1000);
  ledger.begin_stage(Stage::Decode, 2);
  ledger.end_stage();

  ASSERT_EQ(ledger.stages().size(), 2U);
  const StageRecord& prefill = ledger.stages()[0];
  EXPECT_EQ(prefill.stage, Stage::Prefill);
  EXPECT_EQ(prefill.step, 1);
  EXPECT_EQ(prefill.before, 7U);
  EXPECT_EQ(prefill.after, 37U);
  EXPECT_EQ(prefill.peak, 107U);
  EXPECT_EQ(prefill.reserved, 137U);
  EXPECT_EQ(prefill.at_end.total(), 37U);
  EXPECT_EQ(prefill.at_end[Category::KvCache], 30U);
  EXPECT_FALSE(prefill.out_of_memory);
  const StageRecord& decode = ledger.stages()[1];
  EXPECT_EQ(decode.stage, Stage::Decode);
  EXPECT_EQ(decode.step, 2);
  EXPECT_EQ(decode.before, 1037U);
  EXPECT_EQ(decode.after, 1037U);
  EXPECT_EQ(decode.peak, 1037U) << "another stage's peak is not this one's";
}

TEST(Ledger, WritesDownEveryEvent) {
  BumpAllocator memory;
  Ledger ledger(memory);
  ledger.begin_stage(Stage::Forward, 3);
  const Block a = ledger.allocate({"a", 5}, Category::Activations, 10);
  const Block b = ledger.allocate("b", Category::Workspace, 4);
  ledger.free({"a", 5}, Category::Activations, 10, a);
  ledger.end_stage();
  ledger.free("b", Category::Workspace, 4, b);

  using Kind = Event::Kind;
  const std::vector<Event> expected = {
      {Kind::StageBegin, Stage::Forward, Category::Parameters, 3, {}, 0, 0, 0},
      {Kind::Allocate, Stage::Forward, Category::Activations, 3, {"a", 5}, 10, 0, 10, 10},
      {Kind::Allocate, Stage::Forward, Category::Workspace, 3, "b", 4, 10, 14, 4},
      {Kind::Free, Stage::Forward, Category::Activations, 3, {"a", 5}, 10, 0, 14},
      {Kind::StageEnd, Stage::Forward, Category::Parameters, 3, {}, 0, 0, 14},
      {Kind::Free, Stage::Outside, Category::Workspace, 3, "b", 4, 10, 14},
  };
  EXPECT_EQ(first_difference(ledger.events(), expected), std::nullopt);
}

TEST(Ledger, OutOfMemoryIsAnEventThatChangesNothing) {
  BumpAllocator memory(100);
  Ledger ledger(memory);
  ledger.allocate("fits", Category::Parameters, 90);
  EXPECT_THROW(ledger.allocate({"does_not", 2}, Category::Gradients, 11), OutOfMemory);

  EXPECT_EQ(ledger.allocated(), 90U);
  EXPECT_EQ(ledger.by_category()[Category::Gradients], 0U);
  EXPECT_EQ(ledger.peak().allocated, 90U);
  const Event expected = {
      Event::Kind::OutOfMemory, Stage::Outside, Category::Gradients, 0, {"does_not", 2}, 11, 0, 90};
  EXPECT_EQ(ledger.events().back().text(), expected.text());
  EXPECT_TRUE(ledger.events().back() == expected);
  EXPECT_NO_THROW(ledger.allocate("fits_too", Category::Gradients, 10)) << "the ledger goes on";
}

TEST(Ledger, AStageThatMemoryEndsSaysSo) {
  BumpAllocator memory(100);
  Ledger ledger(memory);
  const auto stage = [&](std::uint64_t bytes) {
    const StageScope scope(ledger, Stage::Backward, 1);
    ledger.allocate("t", Category::Workspace, bytes);
  };
  stage(60);
  EXPECT_THROW(stage(60), OutOfMemory);
  stage(40);
  ASSERT_EQ(ledger.stages().size(), 3U);
  EXPECT_FALSE(ledger.stages()[0].out_of_memory);
  EXPECT_TRUE(ledger.stages()[1].out_of_memory);
  EXPECT_EQ(ledger.stages()[1].after, 60U);
  EXPECT_FALSE(ledger.stages()[2].out_of_memory);
  EXPECT_EQ(ledger.events().back().kind, Event::Kind::StageEnd);
}

TEST(Ledger, AStageThatEndsWellWhileAnotherExceptionPassesIsNotOutOfMemory) {
  BumpAllocator memory;
  Ledger ledger(memory);
  struct CleansUpInAStage {
    ~CleansUpInAStage() { const StageScope scope(ledger, Stage::ZeroGrad, 1); }
    Ledger& ledger;
  };
  try {
    const CleansUpInAStage cleaner{ledger};
    throw std::runtime_error("another");
  } catch (const std::runtime_error&) {
  }
  ASSERT_EQ(ledger.stages().size(), 1U);
  EXPECT_FALSE(ledger.stages()[0].out_of_memory);
}

TEST(Ledger, StagesDoNotNest) {
  BumpAllocator memory;
  Ledger ledger(memory);
  ledger.begin_stage(Stage::Forward, 1);
  EXPECT_THROW(ledger.begin_stage(Stage::Backward, 1), std::logic_error);
  ledger.end_stage();
  ASSERT_EQ(ledger.stages().size(), 1U);
  EXPECT_EQ(ledger.stages()[0].stage, Stage::Forward);
  EXPECT_NO_THROW(ledger.begin_stage(Stage::Backward, 1));
}

class Witness final : public LedgerObserver {
 public:
  explicit Witness(const Ledger& ledger) : ledger_(ledger) {}
  void stage_begins(Stage stage, int step) override {
    calls.push_back("begin " + std::string(name(stage)) + " " + std::to_string(step) + " at " +
                    std::to_string(ledger_.allocated()));
  }
  void stage_ends(const StageRecord& record) override {
    calls.push_back("end " + std::string(name(record.stage)) + " " + std::to_string(record.step) +
                    " at " + std::to_string(record.after) + (record.out_of_memory ? " oom" : ""));
  }
  std::vector<std::string> calls;

 private:
  const Ledger& ledger_;
};

TEST(Ledger, TellsItsObserverOfStagesAsTheyComeAndGo) {
  BumpAllocator memory(100);
  Ledger ledger(memory);
  Witness witness(ledger);
  ledger.set_observer(&witness);
  const auto stage = [&](Stage which, std::uint64_t bytes) {
    const StageScope scope(ledger, which, 4);
    ledger.allocate("t", Category::Workspace, bytes);
  };
  stage(Stage::Loaded, 30);
  EXPECT_THROW(stage(Stage::Forward, 80), OutOfMemory);
  ledger.set_observer(nullptr);
  stage(Stage::Backward, 1);
  EXPECT_EQ(witness.calls,
            (std::vector<std::string>{"begin loaded 4 at 0", "end loaded 4 at 30",
                                      "begin forward 4 at 30", "end forward 4 at 30 oom"}));
}

TEST(Ledger, AgreesWithItsEventsReplayed) {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  BumpAllocator memory;
  Ledger ledger(memory);
  struct Live {
    Category category;
    std::uint64_t bytes;
    Block block;
  };
  std::vector<Live> live;
  for (int step = 1; step <= 200; ++step) {
    const bool in_stage = below(4) != 0;
    if (in_stage) ledger.begin_stage(static_cast<Stage>(1 + below(7)), step);
    for (std::uint64_t i = below(12); i > 0; --i) {
      if (live.empty() || below(5) < 3) {
        const Category category = kAllCategories[below(kCategories)];
        const std::uint64_t bytes = below(1000);
        live.push_back({category, bytes, ledger.allocate("t", category, bytes)});
      } else {
        const std::size_t index = below(live.size());
        ledger.free("t", live[index].category, live[index].bytes, live[index].block);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(index));
      }
    }
    if (in_stage) ledger.end_stage();
  }

  const Replay truth = replay(ledger.events());
  expect_same(ledger.by_category(), truth.current);
  EXPECT_EQ(ledger.allocated(), truth.current.total());
  EXPECT_EQ(ledger.peak().allocated, truth.peak);
  expect_same(ledger.peak().by_category, truth.at_peak);
  EXPECT_EQ(ledger.peak().stage, truth.peak_stage);
  ASSERT_EQ(ledger.stages().size(), truth.stages.size());
  for (std::size_t i = 0; i < truth.stages.size(); ++i) {
    const StageRecord& a = ledger.stages()[i];
    const StageRecord& b = truth.stages[i];
    EXPECT_EQ(a.stage, b.stage);
    EXPECT_EQ(a.step, b.step);
    EXPECT_EQ(a.before, b.before);
    EXPECT_EQ(a.after, b.after);
    EXPECT_EQ(a.peak, b.peak);
    EXPECT_EQ(a.reserved, b.reserved);
    expect_same(a.at_end, b.at_end);
  }
}

}  // namespace
}  // namespace vramfit
