#include "kernels/host/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/ops/random.h"

namespace vramfit {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A format by its definition, as the reference: the value nearest to `value` with `precision`
/// significant bits, none below 2^lowest; ties to even, as nearbyint does. Beyond `largest`:
/// infinity.
float rounded(float value, int precision, int lowest, double largest) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value) - (precision - 1), lowest);
  const double nearest = std::ldexp(std::nearbyint(std::ldexp(double{value}, -exponent)), exponent);
  if (std::abs(nearest) > largest) return std::copysign(kInfinity, value);
  return static_cast<float>(nearest);
}

float rounded_to_half(float value) { return rounded(value, 11, -24, 65504.0); }
float rounded_to_bfloat(float value) { return rounded(value, 8, -133, std::ldexp(255.0, 120)); }

/// Floats of every exponent, near the formats' ties above all.
template <typename Check>
void for_many_floats(const Check& check) {
  for (std::uint64_t i = 0; i < 200000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random_bits(5, i));
    check(std::bit_cast<float>(bits));
    check(std::bit_cast<float>(bits & 0xFFFF'F000U));  // half's ties
    check(std::bit_cast<float>(bits & 0xFFFF'8000U));  // bfloat's ties
    // Within half's range, which few random exponents are.
    check(std::bit_cast<float>((bits & 0x83FF'FFFFU) | 0x3800'0000U));
    check(std::bit_cast<float>((bits & 0x80FF'F000U) | 0x3300'0000U));
  }
}

TEST(Half, EveryValueComesBackAsItWas) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = half_value(half);
    if (std::isnan(value)) {
      EXPECT_TRUE((half & 0x7C00U) == 0x7C00U && (half & 0x3FFU) != 0);
      EXPECT_TRUE(std::isnan(half_value(half_bits(value))));
    } else {
      ASSERT_EQ(half_bits(value), half) << value;
    }
  }
}

TEST(Half, ValuesByDefinition) {
  EXPECT_EQ(half_value(0x0000), 0.0F);
  EXPECT_TRUE(std::signbit(half_value(0x8000)));
  EXPECT_EQ(half_value(0x0001), std::ldexp(1.0F, -24));
  EXPECT_EQ(half_value(0x03FF), std::ldexp(1023.0F, -24));
  EXPECT_EQ(half_value(0x0400), std::ldexp(1.0F, -14));
  EXPECT_EQ(half_value(0x3C00), 1.0F);
  EXPECT_EQ(half_value(0xC100), -2.5F);
  EXPECT_EQ(half_value(0x7BFF), 65504.0F);
  EXPECT_EQ(half_value(0x7C00), kInfinity);
  EXPECT_EQ(half_value(0xFC00), -kInfinity);
}

TEST(Half, RoundsToNearestTiesToEven) {
  for_many_floats([](float value) {
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(static_cast<float>(Half(value))));
    } else {
      ASSERT_EQ(static_cast<float>(Half(value)), rounded_to_half(value)) << value;
    }
  });
  EXPECT_EQ(static_cast<float>(Half(65519.99F)), 65504.0F);
  EXPECT_EQ(static_cast<float>(Half(65520.0F)), kInfinity);
  EXPECT_EQ(static_cast<float>(Half(-1e9F)), -kInfinity);
  EXPECT_EQ(static_cast<float>(Half(1.0F + 0x1p-11F)), 1.0F);
  EXPECT_EQ(static_cast<float>(Half(1.0F + 0x3p-11F)), 1.0F + 0x4p-11F);
}

TEST(Bfloat, EveryValueComesBackAsItWas) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const auto bfloat = static_cast<std::uint16_t>(bits);
    const float value = bfloat_value(bfloat);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(bfloat_value(bfloat_bits(value))));
    } else {
      ASSERT_EQ(bfloat_bits(value), bfloat) << value;
    }
  }
}

TEST(Bfloat, RoundsToNearestTiesToEven) {
  for_many_floats([](float value) {
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(static_cast<float>(Bfloat(value))));
    } else {
      ASSERT_EQ(static_cast<float>(Bfloat(value)), rounded_to_bfloat(value)) << value;
    }
  });
  EXPECT_EQ(static_cast<float>(Bfloat(1.0F + 0x1p-8F)), 1.0F);
  EXPECT_EQ(static_cast<float>(Bfloat(1.0F + 0x3p-8F)), 1.0F + 0x4p-8F);
  EXPECT_EQ(static_cast<float>(Bfloat(std::numeric_limits<float>::max())), kInfinity);
}

}  // namespace
}  // namespace vramfit
