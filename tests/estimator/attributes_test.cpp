#include "estimator/attributes.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "estimator/card_names.h"
#include "estimator/data.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

using Json = nlohmann::json;

// Numbers of the driver's, as cuda.h has them.
constexpr int kClock = 13;
constexpr int kMultiprocessors = 16;
constexpr int kIntegrated = 18;
constexpr int kMemoryClock = 36;
constexpr int kMemoryBus = 37;
constexpr int kL2 = 38;
constexpr int kThreadsPerMultiprocessor = 39;
constexpr int kMajor = 75;
constexpr int kMinor = 76;
constexpr int kSharedPerBlockOptin = 97;
constexpr int kTensorMaps = 127;
constexpr int kPciIds = 139;

Attributes attributes_of_card(const char* name) {
  return attributes_of(budget_of(card_named(name))).values;
}

TEST(Attributes, OfTheCardThatToldThemAreAsItToldThem) {
  const KnownAttributes known = attributes_of(budget_of(card_named("h200")));
  EXPECT_TRUE(known.notes.empty());
  EXPECT_EQ(known.values.at(kL2), 62'914'560);
  EXPECT_EQ(known.values.at(kPciIds), 590'680'286);
  EXPECT_EQ(known.values.at(kMemoryClock), 3'201'000);
}

TEST(Attributes, OfAnotherAreItsOwnOverItsArchitectures) {
  Attributes rtx4090 = attributes_of_card("rtx4090");
  EXPECT_EQ(rtx4090[kMajor], 8);
  EXPECT_EQ(rtx4090[kMinor], 9);
  EXPECT_EQ(rtx4090[kMultiprocessors], 128);
  EXPECT_EQ(rtx4090[kThreadsPerMultiprocessor], 1'536);
  EXPECT_EQ(rtx4090[kSharedPerBlockOptin], 99 * 1024);
  EXPECT_EQ(rtx4090[kTensorMaps], 0);
  EXPECT_EQ(rtx4090[kL2], 72 << 20);
  EXPECT_EQ(rtx4090[kClock], 2'520'000);
  EXPECT_EQ(rtx4090[kMemoryBus], 384);
  EXPECT_EQ(rtx4090[kMemoryClock], 10'500'000);
  EXPECT_EQ(rtx4090[kPciIds], 0x268410de);
  EXPECT_EQ(attributes_of_card("rtx5090")[kMajor], 12);
  EXPECT_EQ(attributes_of_card("rtx5090")[kIntegrated], 0);
  EXPECT_EQ(attributes_of_card("gb10")[kIntegrated], 1);
  EXPECT_EQ(attributes_of_card("v100-16gb")[kSharedPerBlockOptin], 96 * 1024);
}

TEST(Attributes, OfEveryCardAreAllAndNoneIsOfAnUnknownArchitecture) {
  const std::size_t all = attributes_of_card("h200").size();
  for (const Card& card : cards()) {
    SCOPED_TRACE(card.name);
    const KnownAttributes known = attributes_of(budget_of(card));
    EXPECT_EQ(known.values.size(), all);
    for (const std::string& note : known.notes) {
      EXPECT_EQ(note.find("nothing is known"), std::string::npos) << note;
    }
    EXPECT_TRUE(card.traits.clock_khz && card.traits.memory_bus_bits);
    EXPECT_TRUE(card.traits.pci_device || card.traits.integrated);  // a module's GPU may lack one
  }
}

TEST(Attributes, WhatIsNotKnownIsNamed) {
  Budget budget = budget_of(card_named("rtx3060-12gb"));
  std::vector<std::string> notes = attributes_of(budget).notes;
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[1], "unknown of this card, and as the h200's driver told them: L2");
  budget.arch.sm = 210;
  notes = attributes_of(budget).notes;
  EXPECT_NE(notes.at(0).find("nothing is known of the attributes of sm_210"), std::string::npos);
}

TEST(Attributes, AreReadStrictly) {
  const Json absent(Json::value_t::discarded);
  const std::vector<std::tuple<const char*, Json, const char*>> cases = {
      {"/schema", 2, "schema"},
      {"/extra", 1, "extra"},
      {"/numbers", absent, "numbers"},
      {"/numbers/warp_size", 0, "warp_size"},
      {"/numbers/new_one", 200, "new_one"},
      {"/told/source", "", "source"},
      {"/told/values/warp_size", absent, "warp_size"},
      {"/told/values/warp_size", "32", "warp_size"},
      {"/told/values/wrap_size", 32, "wrap_size"},
      {"/archs", absent, "archs"},
      {"/archs/0", 7, "arch 1"},
      {"/archs/0/arch", "70", "sm_90"},
      {"/archs/1/arch", "sm_70", "twice"},
      {"/archs/0/source", absent, "source"},
      {"/archs/0/values", absent, "values"},
      {"/archs/0/values/wrap_size", 32, "wrap_size"},
  };
  for (const auto& [pointer, value, part] : cases) {
    SCOPED_TRACE(pointer);
    Json data = Json::parse(data_text("attributes.json"));
    const Json::json_pointer at(pointer);
    if (value.is_discarded()) {
      data[at.parent_pointer()].erase(at.back());
    } else {
      data[at] = value;
    }
    const std::string text = data.dump();
    expect_bad_input([&] { parse_attributes(text, "text"); }, {"text", part});
  }
}

}  // namespace
}  // namespace vramfit
