#include "estimator/card_rows.h"

#include <gtest/gtest.h>

#include "estimator/card_names.h"
#include "estimator/cards.h"
#include "estimator/data.h"
#include "estimator/verdict.h"

namespace vramfit {
namespace {

TEST(CardRows, AreTheCataloguesInItsOrder) {
  const std::string text = data_text("gpus.json");
  const std::vector<CardRow> rows = card_rows(text);
  ASSERT_EQ(rows.size(), cards().size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].name, cards()[i].name);
    EXPECT_TRUE(rows[i].text.starts_with('{') && rows[i].text.ends_with('}'));
  }
}

TEST(CardRows, GoByBracesOutsideOfTexts) {
  const std::string text =
      R"({"cards": [{"name": "a", "b": "}\"]{"}, {"name" : "c", "d": {"e": [1]}}]})";
  const std::vector<CardRow> rows = card_rows(text);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].text, R"({"name": "a", "b": "}\"]{"})");
  EXPECT_EQ(rows[1].name, "c");
  EXPECT_EQ(rows[1].text, R"({"name" : "c", "d": {"e": [1]}})");
}

TEST(CardRows, AreNoneWhereOneDoesNotBeginWithItsName) {
  for (const char* text : {"", "{", "]}]}", R"({"cards": [{"title": "a", "name": "b"}]})",
                           R"({"cards": [{"name": "a"}, {"name": "\u0062"}]})",
                           R"({"cards": [{"name": 1}]})", R"({"cards": [{"name": "a)"}) {
    EXPECT_TRUE(card_rows(text).empty()) << text;
  }
}

TEST(CardWhoseName, IsTheOneReadWithAllOthers) {
  for (const Card& card : cards()) {
    SCOPED_TRACE(card.name);
    const Card* alone = card_whose_name([&](std::string_view name) { return name == card.name; });
    ASSERT_NE(alone, nullptr);
    EXPECT_EQ(alone->name, card.name);
    EXPECT_EQ(alone->title, card.title);
    EXPECT_EQ(alone->also, card.also);
    EXPECT_EQ(alone->vram, card.vram);
    EXPECT_EQ(alone->flops, card.flops);
    EXPECT_EQ(alone->overhead.total(), card.overhead.total());
    EXPECT_EQ(alone->overhead.source, card.overhead.source);
    EXPECT_EQ(alone->overhead.assumed_from, card.overhead.assumed_from);
    EXPECT_EQ(range_of(alone->overhead).more, range_of(card.overhead).more);
    EXPECT_EQ(&card_named(card.name), alone) << "no other card is called so";
  }
}

TEST(CardWhoseName, IsNoneOfSeveral) {
  EXPECT_EQ(card_whose_name([](std::string_view) { return true; }), nullptr);
  EXPECT_EQ(card_whose_name([](std::string_view) { return false; }), nullptr);
}

}  // namespace
}  // namespace vramfit
