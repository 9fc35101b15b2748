#include <gtest/gtest.h>

#include <functional>

#include "model/memory/ledger.h"

namespace vramfit {
namespace {

std::vector<Event> some_events() {
  using Kind = Event::Kind;
  return {
      {Kind::StageBegin, Stage::Forward, Category::Parameters, 1, {}, 0, 0, 0},
      {Kind::Allocate, Stage::Forward, Category::Activations, 1, {"qkv", 3}, 4096, 512, 2 << 20},
      {Kind::Free, Stage::Forward, Category::Activations, 1, {"qkv", 3}, 4096, 512, 2 << 20},
      {Kind::StageEnd, Stage::Forward, Category::Parameters, 1, {}, 0, 0, 2 << 20},
  };
}

TEST(FirstDifference, IsNothingBetweenEqualLedgers) {
  EXPECT_EQ(first_difference(some_events(), some_events()), std::nullopt);
  EXPECT_EQ(first_difference({}, {}), std::nullopt);
}

TEST(FirstDifference, SeesEveryFieldOfAnEvent) {
  const std::vector<std::function<void(Event&)>> changes = {
      [](Event& e) { e.kind = Event::Kind::OutOfMemory; },
      [](Event& e) { e.stage = Stage::Backward; },
      [](Event& e) { e.category = Category::Workspace; },
      [](Event& e) { e.step = 2; },
      [](Event& e) {
        e.name = {"qkv", 4};
      },
      [](Event& e) {
        e.name = {"kqv", 3};
      },
      [](Event& e) { e.name = e.name.part("m"); },
      [](Event& e) { e.bytes += 1; },
      [](Event& e) { e.offset += 256; },
      [](Event& e) { e.reserved += 1; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto a = some_events();
    auto b = a;
    changes[i](b[1]);
    const auto difference = first_difference(a, b);
    ASSERT_TRUE(difference) << "change " << i;
    EXPECT_EQ(*difference, "event 1: " + a[1].text() + " | " + b[1].text());
    EXPECT_NE(a[1].text(), b[1].text()) << "change " << i << " cannot be read off the text";
    EXPECT_EQ(difference->find('\n'), std::string::npos);
  }
}

TEST(FirstDifference, NamesAnEventThatIsMissingOrExtra) {
  const auto a = some_events();
  auto shorter = a;
  shorter.pop_back();
  EXPECT_EQ(first_difference(a, shorter), "event 3: " + a[3].text() + " | nothing");
  EXPECT_EQ(first_difference(shorter, a), "event 3: nothing | " + a[3].text());
  EXPECT_EQ(first_difference({}, a), "event 0: nothing | " + a[0].text());

  auto without_second = a;
  without_second.erase(without_second.begin() + 1);
  EXPECT_EQ(first_difference(a, without_second), "event 1: " + a[1].text() + " | " + a[2].text());
}

TEST(FirstDifference, IsTheFirst) {
  const auto a = some_events();
  auto b = a;
  b[1].bytes = 1;
  b[2].bytes = 1;
  EXPECT_EQ(first_difference(a, b)->rfind("event 1: ", 0), 0U);
}

TEST(EventText, IsOneLineForAPerson) {
  const auto events = some_events();
  EXPECT_EQ(events[0].text(), "stage begins in forward of step 1");
  EXPECT_EQ(events[1].text(),
            "allocate in forward of step 1: layers.3.qkv (activations, 4096 B at 512, "
            "reserved 2097152)");
  EXPECT_EQ(events[2].text().rfind("free in forward", 0), 0U);
  EXPECT_EQ(events[3].text(), "stage ends in forward of step 1");
}

}  // namespace
}  // namespace vramfit
