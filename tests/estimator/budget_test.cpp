#include "estimator/budget.h"

#include <gtest/gtest.h>

#include "estimator/card_names.h"

namespace vramfit {
namespace {

constexpr std::uint64_t kGb = 1'000'000'000;

TEST(Budget, OfACard) {
  const Budget budget = budget_of(card_named("a100-40gb"));
  EXPECT_EQ(budget.gpu, "a100-40gb");
  EXPECT_EQ(budget.arch.sm, 80);
  EXPECT_EQ(budget.capacity(), pool_capacity(budget.vram, budget.overhead));
  EXPECT_TRUE(budget.notes.empty());
}

TEST(Budget, OfACardWhoseMemoryIsTheHostsTooSaysSo) {
  const Budget budget = budget_of(card_named("gb10"));
  ASSERT_EQ(budget.notes.size(), 1U);
  EXPECT_NE(budget.notes[0].find("--headroom"), std::string::npos);
}

TEST(Budget, OfASizeTakesTheRestFromTheCardThatStandsForItAndSaysSo) {
  const std::vector<std::pair<std::uint64_t, const char*>> cases = {
      {1, "rtx4090"},          {24 * kGb, "rtx4090"},
      {40 * kGb, "a100-40gb"}, {48 * kGb, "rtx6000-ada"},
      {80 * kGb, "h100-80gb"}, {1000 * kGb, "h200"}};
  for (const auto& [vram, name] : cases) {
    const Budget budget = budget_of_size(vram);
    EXPECT_EQ(budget.vram, vram);
    EXPECT_EQ(budget.gpu, "");
    EXPECT_EQ(budget.arch.sm, card_named(name).arch.sm);
    EXPECT_EQ(budget.multiprocessors, card_named(name).multiprocessors);
    ASSERT_EQ(budget.notes.size(), 1U);
    EXPECT_NE(budget.notes[0].find(name), std::string::npos) << budget.notes[0];
    EXPECT_EQ(budget.overhead.source.find("assumed: "), 0U) << budget.overhead.source;
  }
}

TEST(Budget, OfAGpuTheDriverNames) {
  const Budget known = budget_of_gpu("NVIDIA H200", Arch{90}, 150 * kGb);
  EXPECT_EQ(known.gpu, "h200");
  EXPECT_EQ(known.vram, 150 * kGb);
  EXPECT_EQ(known.overhead.source, card_named("h200").overhead.source);

  const Budget unknown = budget_of_gpu("NVIDIA B100", Arch{100}, 190 * kGb);
  EXPECT_EQ(unknown.gpu, "");
  EXPECT_EQ(unknown.title, "NVIDIA B100");
  EXPECT_EQ(unknown.arch.sm, 100);
  EXPECT_EQ(unknown.multiprocessors, card_named("b200").multiprocessors);
  ASSERT_EQ(unknown.notes.size(), 1U);
  EXPECT_NE(unknown.notes[0].find("as the b200 has"), std::string::npos) << unknown.notes[0];
  EXPECT_EQ(unknown.overhead.source.find("assumed: "), 0U);
}

TEST(Budget, HeadroomComesOffTheCapacity) {
  Budget budget = budget_of(card_named("h200"));
  const std::uint64_t without = budget.capacity();
  budget.headroom = std::uint64_t{4} << 20;
  EXPECT_EQ(budget.capacity(), without - budget.headroom);
}

}  // namespace
}  // namespace vramfit
