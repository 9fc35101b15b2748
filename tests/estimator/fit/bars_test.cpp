#include "estimator/fit/bars.h"

#include <gtest/gtest.h>

namespace vramfit::fit {
namespace {

constexpr std::uint64_t kGb = 1'000'000'000;

TEST(Bars, HalfAGbWhereTheArticleHasIt) {
  const Bars bars(28 * kGb);
  EXPECT_EQ(bars.legend(), "# = 0.5 GB");
  EXPECT_EQ(bars.bar(14 * kGb), std::string(28, '#'));
  EXPECT_EQ(bars.bar(kGb / 2), "#");
  EXPECT_EQ(bars.bar(kGb / 2 - 1), "");
  EXPECT_EQ(bars.bar(2 * kGb, '='), "====");
}

TEST(Bars, NoScaleIsWiderThanItsColumnsOrNeedlesslyNarrow) {
  for (std::uint64_t largest = 1'000'000; largest < 1000 * 1000 * kGb; largest += largest / 7) {
    const std::size_t length = Bars(largest).bar(largest).size();
    EXPECT_LE(length, 56U) << largest;
    if (largest > 100'000'000) {
      EXPECT_GE(length, 22U) << largest;
    }
  }
}

TEST(Bars, AreCutWithAMark) {
  const Bars bars(28 * kGb);
  EXPECT_EQ(bars.bar(28 * kGb), std::string(56, '#'));
  EXPECT_EQ(bars.bar(29 * kGb), std::string(55, '#') + ">");
  EXPECT_EQ(bars.bar(900 * kGb), std::string(55, '#') + ">");
}

}  // namespace
}  // namespace vramfit::fit
