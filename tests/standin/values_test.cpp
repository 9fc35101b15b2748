#include "standin/memory/values.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace vramfit::standin {
namespace {

TEST(Values, AreUnknownUntilTheyAreWritten) {
  Values values;
  EXPECT_EQ(values.least(100, 8), Knowledge::Unknown);
  values.set(100, 8, Knowledge::Known);
  EXPECT_EQ(values.least(100, 8), Knowledge::Known);
  EXPECT_EQ(values.least(99, 2), Knowledge::Unknown);
  EXPECT_EQ(values.least(107, 2), Knowledge::Unknown);
  EXPECT_EQ(values.least(50, 0), Knowledge::Known);
}

TEST(Values, TheLeastKnownByteDecides) {
  Values values;
  values.set(0, 30, Knowledge::Known);
  values.set(10, 10, Knowledge::Assumed);
  EXPECT_EQ(values.least(0, 10), Knowledge::Known);
  EXPECT_EQ(values.least(0, 11), Knowledge::Assumed);
  EXPECT_EQ(values.least(20, 10), Knowledge::Known);
  values.set(15, 1, Knowledge::Unknown);
  EXPECT_EQ(values.least(0, 30), Knowledge::Unknown);
  EXPECT_EQ(values.least(16, 14), Knowledge::Assumed);
}

TEST(Values, OfOneKindSayNothingOfTheOther) {
  Values values;
  values.set(0, 8, Knowledge::Known, Kind::Float);
  values.set(8, 8, Knowledge::Known, Kind::Integer);
  EXPECT_EQ(values.least(0, 8, Kind::Integer), Knowledge::Unknown);
  EXPECT_EQ(values.least(0, 16, Kind::Any), Knowledge::Known);
  values.forget_floats();
  EXPECT_EQ(values.least(0, 8), Knowledge::Unknown);
  EXPECT_EQ(values.least(8, 8, Kind::Integer), Knowledge::Known);
}

/// Against an array that says of each byte what is known of it.
TEST(Values, AreWhatAByteByByteAccountSays) {
  constexpr std::size_t kBytes = 64;
  std::array<Knowledge, kBytes> account{};
  Values values;
  std::mt19937 random(7);
  const auto draw = [&random](std::size_t below) { return random() % below; };
  for (int turn = 0; turn < 20'000; ++turn) {
    const std::size_t first = draw(kBytes);
    const std::size_t bytes = draw(kBytes - first) + 1;
    if (draw(2) == 0) {
      const auto knowledge = static_cast<Knowledge>(draw(3));
      values.set(first, bytes, knowledge);
      std::fill_n(account.begin() + static_cast<std::ptrdiff_t>(first), bytes, knowledge);
    }
    const auto* begin = account.begin() + static_cast<std::ptrdiff_t>(first);
    ASSERT_EQ(values.least(first, bytes),
              *std::min_element(begin, begin + static_cast<std::ptrdiff_t>(bytes)))
        << "turn " << turn;
  }
}

}  // namespace
}  // namespace vramfit::standin
