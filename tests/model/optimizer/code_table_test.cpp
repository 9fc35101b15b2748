#include "model/optimizer/code_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace vramfit {
namespace {

/// create_dynamic_map of bitsandbytes, as its source has it, in fp64.
std::vector<double> dynamic_map(bool is_signed) {
  std::vector<double> values = {0, 1};
  for (int i = 0; i < 7; ++i) {
    const int steps = 1 << (is_signed ? i : i + 1);
    for (int j = 0; j < steps; ++j) {
      const double mean = 0.1 + 0.9 * (j + 0.5) / steps;
      values.push_back(std::pow(10.0, i - 6) * mean);
      if (is_signed) values.push_back(-values.back());
    }
  }
  std::sort(values.begin(), values.end());
  return values;
}

template <typename Codes>
void expect_map(const std::vector<double>& expected) {
  std::vector<double> values;
  for (int code = 0; code < 256; ++code) {
    values.push_back(static_cast<double>(Codes::value(static_cast<std::uint8_t>(code))));
  }
  std::sort(values.begin(), values.end());
  ASSERT_EQ(expected.size(), 256U);
  for (std::size_t i = 0; i < 256; ++i) {
    EXPECT_NEAR(values[i], expected[i], 1e-6 * std::abs(expected[i])) << i;
  }
}

TEST(DynamicCodes, AreThoseOfBitsandbytes) {
  expect_map<SignedCodes>(dynamic_map(true));
  expect_map<UnsignedCodes>(dynamic_map(false));
}

/// A table's values in their order.
template <typename Codes>
std::vector<double> sorted_values() {
  std::vector<double> values(std::begin(kCodeTable<Codes>.values),
                             std::end(kCodeTable<Codes>.values));
  std::sort(values.begin(), values.end());
  return values;
}

/// How much farther off than the nearest value that of x's code is.
template <typename Codes>
double too_far(float x) {
  static const std::vector<double> values = sorted_values<Codes>();
  const double exact{x};
  const auto above = std::lower_bound(values.begin(), values.end(), exact);
  double nearest = above == values.end() ? 2 : *above - exact;
  if (above != values.begin()) nearest = std::min(nearest, exact - above[-1]);
  return std::abs(double{kCodeTable<Codes>.values[kCodeTable<Codes>.code(x)]} - exact) - nearest;
}

// Not only to a rounding: halfway between two values, both are as near.
template <typename Codes>
void expect_nearest_everywhere() {
  const float smallest = CodeTable<Codes>::kSigned ? -1.0F : 0.0F;
  std::vector<float> around = {smallest, 0.0F, 1.0F};
  const std::vector<double> values = sorted_values<Codes>();
  for (std::size_t i = 1; i < values.size(); ++i) {
    around.push_back(static_cast<float>((values[i - 1] + values[i]) / 2));
    around.push_back(static_cast<float>(values[i]));
  }
  for (const float center : around) {
    for (const float direction : {-2.0F, 2.0F}) {
      float x = center;
      for (int ulp = 0; ulp < 200; ++ulp, x = std::nextafter(x, direction)) {
        if (x < smallest || x > 1) break;
        ASSERT_EQ(too_far<Codes>(x), 0) << x;
      }
    }
  }
  for (float x = 1e-9F; x <= 1; x *= 1.0001F) {
    ASSERT_EQ(too_far<Codes>(x), 0) << x;
    if (CodeTable<Codes>::kSigned) {
      ASSERT_EQ(too_far<Codes>(-x), 0) << -x;
    }
  }
}

TEST(CodeTable, FindsTheNearest) {
  expect_nearest_everywhere<SignedCodes>();
  expect_nearest_everywhere<UnsignedCodes>();
}

TEST(CodeTable, FindsEachValuesOwnCode) {
  for (int code = 0; code < 256; ++code) {
    const auto byte = static_cast<std::uint8_t>(code);
    EXPECT_EQ(kCodeTable<UnsignedCodes>.code(UnsignedCodes::value(byte)), byte);
    EXPECT_EQ(kCodeTable<SignedCodes>.code(SignedCodes::value(byte)), byte);
  }
}

// A product with a reciprocal may be a rounding above 1.
TEST(CodeTable, TakesWhatArithmeticLeaves) {
  const float above = std::nextafter(1.0F, 2.0F);
  EXPECT_EQ(SignedCodes::value(kCodeTable<SignedCodes>.code(above)), 1);
  EXPECT_EQ(UnsignedCodes::value(kCodeTable<UnsignedCodes>.code(above)), 1);
  EXPECT_EQ(kCodeTable<SignedCodes>.code(-above), kCodeTable<SignedCodes>.code(-1.0F));
  EXPECT_EQ(SignedCodes::value(kCodeTable<SignedCodes>.code(-0.0F)), 0);
  EXPECT_EQ(SignedCodes::value(kCodeTable<SignedCodes>.code(NAN)), 0);
  EXPECT_EQ(UnsignedCodes::value(kCodeTable<UnsignedCodes>.code(NAN)), 0);
}

}  // namespace
}  // namespace vramfit
