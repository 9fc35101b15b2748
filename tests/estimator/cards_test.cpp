#include "estimator/cards.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "estimator/data_path.h"
#include "model/memory/pool.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMiB = 1 << 20;

TEST(Cards, AreTheOnesTheDesignNames) {
  const std::vector<std::pair<const char*, std::uint64_t>> expected = {{"rtx4090", 24'564},
                                                                       {"a100-40gb", 40'960},
                                                                       {"rtx6000-ada", 49'140},
                                                                       {"h100-80gb", 81'559},
                                                                       {"h200", 143'771}};
  ASSERT_EQ(cards().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(cards()[i].name, expected[i].first);
    EXPECT_EQ(cards()[i].vram, expected[i].second * kMiB);
  }
  EXPECT_EQ(card_named("rtx4090").arch.sm, 89);
  EXPECT_EQ(card_named("a100-40gb").arch.sm, 80);
  EXPECT_EQ(card_named("h200").arch.sm, 90);
  EXPECT_EQ(card_named("h100-80gb").article_vram_gb, 80.0);
  EXPECT_FALSE(card_named("h200").article_vram_gb.has_value());
}

TEST(Cards, OverheadIsMeasuredOnOneAndAssumedOnTheOthers) {
  const Overhead& measured = card_named("h200").overhead;
  EXPECT_EQ(measured.driver_reserved, 616 * kMiB);
  EXPECT_EQ(measured.context, 552'389'837U);
  EXPECT_EQ(measured.libraries, 12 * kMiB);
  EXPECT_EQ(measured.total(), measured.driver_reserved + measured.context + measured.libraries);
  EXPECT_EQ(measured.source.find("assumed"), std::string::npos);
  for (const Card& card : cards()) {
    if (card.name == "h200") continue;
    EXPECT_TRUE(card.overhead_assumed);
    EXPECT_EQ(card.overhead.total(), measured.total());
    EXPECT_EQ(card.overhead.source, "assumed: as " + measured.source);
  }
}

TEST(Cards, AssumingTwiceSaysSoOnce) {
  const Overhead once = assumed(card_named("h200").overhead);
  EXPECT_EQ(assumed(once).source, once.source);
}

TEST(Cards, UnknownNameListsTheKnown) {
  expect_bad_input([] { card_named("rtx5090"); }, {"gpu: unknown 'rtx5090'", "rtx4090", "h200"});
}

/// The catalogue with one value replaced, or taken away where `value` is discarded.
std::string changed(const char* pointer, const Json& value) {
  Json catalogue = Json::parse(read_text(data_file("gpus.json")));
  const Json::json_pointer at(pointer);
  if (value.is_discarded()) {
    catalogue[at.parent_pointer()].erase(at.back());
  } else {
    catalogue[at] = value;
  }
  return catalogue.dump();
}

TEST(Cards, ReadStrictly) {
  const Json absent(Json::value_t::discarded);
  const std::vector<std::tuple<const char*, Json, const char*>> cases = {
      {"/schema", 2, "schema"},
      {"/schema", absent, "schema"},
      {"/cards", Json::array(), "cards"},
      {"/cards", Json::object(), "cards"},
      {"/extra", 1, "extra"},
      {"/cards/0", 7, "card 1"},
      {"/cards/1/name", absent, "name"},
      {"/cards/1/name", "rtx4090", "twice"},
      {"/cards/1/nmae", "x", "nmae"},
      {"/cards/0/arch", "90", "sm_90"},
      {"/cards/0/arch", "sm_x0", "sm_90"},
      {"/cards/0/arch", "sm_1234567", "sm_90"},
      {"/cards/0/total_bytes", 25'757'220'864, "total_bytes"},
      {"/cards/0/total_bytes/value", -1, "value"},
      {"/cards/0/total_bytes/value", 1.5, "value"},
      {"/cards/0/total_bytes/source", absent, "source"},
      {"/cards/0/total_bytes/source", "", "source"},
      {"/cards/0/overhead", absent, "overhead"},
      {"/cards/0/overhead/assumed_from", "a100-40gb", "assumed_from"},
      {"/cards/0/overhead/assumed_from", "none", "assumed_from"},
      {"/cards/0/overhead/context", 3, "context"},
      {"/cards/4/overhead/context", absent, "context"},
      {"/cards/4/overhead/source", absent, "source"},
      {"/cards/4/overhead/cudnn/bytes", "10", "bytes"},
      {"/cards/4/overhead/cudnn/mib", 10, "mib"},
  };
  EXPECT_EQ(parse_cards(changed("/schema", 1), "text").size(), 5U);
  for (const auto& [pointer, value, part] : cases) {
    SCOPED_TRACE(pointer);
    const std::string text = changed(pointer, value);
    expect_bad_input([&] { parse_cards(text, "text"); }, {"text", part});
  }
  expect_bad_input([] { parse_cards("{", "text"); }, {"text"});
}

TEST(PoolCapacity, IsWhatIsLeftInWholeGranules) {
  const Overhead overhead{3 * kMiB, 2 * kMiB, kMiB, ""};
  EXPECT_EQ(pool_capacity(100 * kMiB, overhead), 94 * kMiB);
  EXPECT_EQ(pool_capacity(101 * kMiB, overhead), 94 * kMiB);
  EXPECT_EQ(pool_capacity(102 * kMiB - 1, overhead), 94 * kMiB);
  EXPECT_EQ(pool_capacity(102 * kMiB, overhead), 96 * kMiB);
  EXPECT_EQ(pool_capacity(102 * kMiB, overhead, kMiB), 94 * kMiB);
  EXPECT_EQ(Pool::kGranularity, 2 * kMiB);
}

TEST(PoolCapacity, IsNothingWhereOverheadAndHeadroomTakeAll) {
  const Overhead overhead{3 * kMiB, 2 * kMiB, kMiB, ""};
  EXPECT_EQ(pool_capacity(0, overhead), 0U);
  EXPECT_EQ(pool_capacity(6 * kMiB, overhead), 0U);
  EXPECT_EQ(pool_capacity(8 * kMiB - 1, overhead), 0U);
  EXPECT_EQ(pool_capacity(100 * kMiB, overhead, 94 * kMiB), 0U);
  EXPECT_EQ(pool_capacity(100 * kMiB, overhead, ~std::uint64_t{0}), 0U);
}

}  // namespace
}  // namespace vramfit
