#include "estimator/ask/card_facts.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMiB = 1 << 20;

FitOptions asked(const char* gpu, const char* vram = nullptr, const char* headroom = nullptr) {
  FitOptions options;
  if (gpu) options.gpu = gpu;
  if (vram) options.vram = vram;
  if (headroom) options.headroom = headroom;
  return options;
}

TEST(CardFacts, AreTheCatalogues) {
  const Json facts = card_facts(asked("H200"), {});
  EXPECT_EQ(facts.at("gpu"), "h200");
  EXPECT_EQ(facts.at("title"), "NVIDIA H200");
  EXPECT_EQ(facts.at("listed_total"), 143'771 * kMiB);
  EXPECT_EQ(facts.at("total"), 150'109'880'320);
  EXPECT_EQ(facts.at("taken"), 0);
  EXPECT_EQ(facts.at("attributes").at("16"), 132);
  EXPECT_EQ(facts.at("loads").at("context"), 552'402'944);
  EXPECT_EQ(facts.at("loads").at("kernels"), 648'871'936 - 552'402'944);
  EXPECT_EQ(facts.at("uncertainty").at("less"), 6 * kMiB);
  EXPECT_EQ(facts.at("uncertainty").at("more"), 6 * kMiB);
  EXPECT_EQ(facts.at("assumed_from"), "");
  EXPECT_TRUE(facts.at("notes").empty());
}

TEST(CardFacts, TakeSizeAndHeadroomAsFitDoes) {
  const Json facts = card_facts(asked("rtx4090", "16GiB", "1GiB"), {});
  EXPECT_EQ(facts.at("listed_total"), 16 * 1024 * kMiB);
  EXPECT_EQ(facts.at("taken"), 1024 * kMiB);
  EXPECT_EQ(facts.at("notes").at(0), "the card's size is set by --vram");
  EXPECT_EQ(facts.at("assumed_from"), "NVIDIA H200");
  const Json of_size = card_facts(asked(nullptr, "24GB"), {});
  EXPECT_EQ(of_size.at("listed_total"), 24'000'000'000U);
  EXPECT_TRUE(of_size.at("gpu").is_null());
  EXPECT_EQ(card_facts(asked("h200", "1GiB", "8GiB"), {}).at("taken"), 1024 * kMiB - 644'939'776);
}

TEST(CardFacts, AreThisMachinesWhereNoneIsNamed) {
  Environment environment;
  environment.gpu = [] {
    Budget budget = budget_of_gpu("NVIDIA A10G", Arch{86}, 23'028 * kMiB);
    budget.held = 100 * kMiB;
    return budget;
  };
  const Json facts = card_facts({}, environment);
  EXPECT_EQ(facts.at("title"), "NVIDIA A10G");
  EXPECT_EQ(facts.at("taken"), 100 * kMiB);
  expect_bad_input([] { card_facts({}, {}); }, {"gpu: which one", "--gpu rtx4090", "--vram 24GiB"});
}

TEST(CardFacts, RefuseAsFitDoes) {
  expect_bad_input([] { card_facts(asked("rtx409"), {}); },
                   {"did you mean 'rtx4090', 'rtx4090d' or 'rtx4090-laptop'?"});
  expect_bad_input([] { card_facts(asked("h200", "much"), {}); }, {"vram: is 'much'"});
  expect_bad_input([] { card_facts(asked("h200", nullptr, "-1"), {}); }, {"headroom"});
}

}  // namespace
}  // namespace vramfit
