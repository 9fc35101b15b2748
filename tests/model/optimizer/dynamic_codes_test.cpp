#include "model/optimizer/dynamic_codes.h"

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

/// From a value, the code is as near as any is; halfway between two, rounding decides.
template <typename Codes>
void expect_nearest(float x, const std::vector<double>& map) {
  const auto found = static_cast<double>(Codes::value(Codes::code(x)));
  double nearest = 2;
  for (const double value : map) nearest = std::min(nearest, std::abs(value - double{x}));
  EXPECT_LE(std::abs(found - double{x}), nearest + 1e-6 * std::abs(double{x})) << x;
}

TEST(DynamicCodes, AreTheNearest) {
  const std::vector<double> with_sign = dynamic_map(true);
  const std::vector<double> without = dynamic_map(false);
  for (float x = 1e-8F; x <= 1; x *= 1.003F) {
    expect_nearest<SignedCodes>(x, with_sign);
    expect_nearest<SignedCodes>(-x, with_sign);
    expect_nearest<UnsignedCodes>(x, without);
  }
  for (const float x : {0.0F, 1.0F, 0.999F, 0.99F}) {
    expect_nearest<SignedCodes>(x, with_sign);
    expect_nearest<SignedCodes>(-x, with_sign);
    expect_nearest<UnsignedCodes>(x, without);
  }
}

TEST(DynamicCodes, ComeBackAsTheyWere) {
  for (int code = 0; code < 256; ++code) {
    const auto byte = static_cast<std::uint8_t>(code);
    EXPECT_EQ(UnsignedCodes::code(UnsignedCodes::value(byte)), byte);
    EXPECT_EQ(SignedCodes::code(SignedCodes::value(byte)), byte);
  }
}

}  // namespace
}  // namespace vramfit
