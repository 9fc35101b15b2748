#include "estimator/told_overheads.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "estimator/budget.h"
#include "estimator/card_names.h"
#include "estimator/cards.h"
#include "estimator/data.h"
#include "estimator/verdict.h"
#include "model/errors.h"

namespace vramfit {
namespace {

constexpr std::uint64_t kMB = 1'000'000;

nlohmann::json document() {
  return nlohmann::json::parse(R"({
    "schema": 1, "source": "here",
    "measured": {"card": "h200", "least": 600e6, "most": 800e6},
    "any": {"driver_reserved": {"least": 200e6, "most": 900e6},
            "beside": {"least": 100e6, "most": 900e6},
            "beside_a_multiprocessor": {"least": 3e6, "most": 6e6}},
    "cards": [{"name": "t4", "driver_reserved": {"least": 250e6, "most": 480e6, "reports": 5},
               "beside": {"least": 120e6, "most": 150e6, "reports": 3}},
              {"name": "b200", "driver_reserved": {"least": 700e6, "most": 800e6, "reports": 2}}]})");
}

Overhead h200s() {
  Overhead overhead;
  overhead.driver_reserved = 600 * kMB;
  overhead.context = 700 * kMB;
  overhead.libraries = 100 * kMB;
  return assumed(overhead, "NVIDIA H200");
}

OverheadDoubt doubt(const char* card, std::optional<int> multiprocessors) {
  return ToldOverheads::parse(document().dump(), "here").doubt_of(card, multiprocessors, h200s());
}

TEST(ToldOverheads, ACardsOwnReportsGoFirst) {
  const OverheadDoubt t4 = doubt("t4", 40);
  EXPECT_EQ(t4.driver_less, 350 * kMB);
  EXPECT_EQ(t4.driver_more, 0U);
  EXPECT_DOUBLE_EQ(t4.beside_less, 1 - 120.0 / 800);
  EXPECT_DOUBLE_EQ(t4.beside_more, 0);
  EXPECT_EQ(t4.reports, 3);
}

TEST(ToldOverheads, OfOthersAllCardsTellByMultiprocessor) {
  const OverheadDoubt small = doubt("rtx3060-12gb", 28);
  EXPECT_EQ(small.driver_less, 400 * kMB);
  EXPECT_EQ(small.driver_more, 300 * kMB);
  EXPECT_DOUBLE_EQ(small.beside_less, 1 - 28 * 3.0 / 800);
  EXPECT_DOUBLE_EQ(small.beside_more, 0);
  EXPECT_EQ(small.reports, 0);
  const OverheadDoubt large = doubt("b200", 148);  // of its driver people tell, of its context none
  EXPECT_EQ(large.driver_more, 200 * kMB);
  EXPECT_DOUBLE_EQ(large.beside_more, 148 * 6.0 / 600 - 1);
  EXPECT_DOUBLE_EQ(doubt("", std::nullopt).beside_less, 1 - 100.0 / 800);
}

TEST(ToldOverheads, ARangeIsOfBothParts) {
  Overhead overhead = h200s();
  overhead.doubt = doubt("b200", 148);
  const Range range = range_of(overhead);
  EXPECT_EQ(range.less, static_cast<std::uint64_t>((1 - 148 * 3.0 / 800) * 800e6));
  EXPECT_EQ(range.more, 200 * kMB + static_cast<std::uint64_t>((148 * 6.0 / 600 - 1) * 800e6));
}

TEST(ToldOverheads, WhatFitsIsHeldAgainstMoreAndWhatDoesNotAgainstLess) {
  const Uncertainty off{10, {.less = 100, .more = 20}};
  EXPECT_EQ(verdict_of(true, 31, off), Verdict::Fits);
  EXPECT_EQ(verdict_of(true, 30, off), Verdict::Tight);
  EXPECT_EQ(verdict_of(false, -110, off), Verdict::Tight);
  EXPECT_EQ(verdict_of(false, -111, off), Verdict::Oom);
}

TEST(ToldOverheads, EveryCardButTheMeasuredOneHasThem) {
  for (const Card& card : cards()) {
    EXPECT_EQ(card.overhead.doubt.has_value(), card.overhead_assumed) << card.name;
    const Range range = range_of(card.overhead);
    EXPECT_LT(range.less, card.overhead.total()) << card.name;
  }
  EXPECT_EQ(card_named("rtx4090").overhead.doubt->reports, 2);
  EXPECT_EQ(card_named("rtx3070").overhead.doubt->reports, 0);
  EXPECT_EQ(budget_of_size(24'000'000'000).overhead.doubt->reports, 0);  // whichever card it is
}

TEST(ToldOverheads, WhatIsNoneIsRefused) {
  const auto refused = [](const char* at, const nlohmann::json& value) {
    nlohmann::json spoilt = document();
    spoilt[nlohmann::json::json_pointer(at)] = value;
    try {
      ToldOverheads::parse(spoilt.dump(), "here");
    } catch (const BadInput& error) {
      return std::string(error.what());
    }
    return std::string("taken");
  };
  EXPECT_EQ(refused("/schema", 1), "taken");
  EXPECT_NE(refused("/schema", 2).find("schema"), std::string::npos);
  EXPECT_NE(refused("/source", "").find("source"), std::string::npos);
  EXPECT_NE(refused("/measured/least", 0).find("measured"), std::string::npos);
  EXPECT_NE(refused("/any/beside/most", 1).find("most"), std::string::npos);  // below least
  EXPECT_NE(refused("/cards", 3).find("cards"), std::string::npos);
  EXPECT_NE(refused("/cards/0", 3).find("not a JSON object"), std::string::npos);
  EXPECT_NE(refused("/cards/0/besides", 3).find("unknown key"), std::string::npos);
}

}  // namespace
}  // namespace vramfit
