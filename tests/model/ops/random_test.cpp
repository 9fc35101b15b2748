#include "model/ops/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace vramfit {
namespace {

// Computed apart, in Python: devices that draw other numbers start from other weights.
TEST(Random, BitsAreFrozen) {
  EXPECT_EQ(random_bits(0, 0), 0x2d0f28c7e7e786b2U);
  EXPECT_EQ(random_bits(0, 1), 0x75856f745165f252U);
  EXPECT_EQ(random_bits(1, 0), 0x3c5b66874b9e8a84U);
  EXPECT_EQ(random_bits(12345, 678), 0x4a3ad01b6a0a8fccU);
}

TEST(Random, NormalsAreFrozen) {
  EXPECT_EQ(random_normal(0, 0), -0.09024494886398315F);
  EXPECT_EQ(random_normal(0, 1), -0.828743577003479F);
  EXPECT_EQ(random_normal(7, 1000), -0.8680820465087891F);
}

TEST(Random, TokensAreFrozen) {
  const std::int32_t expected[] = {29316, 4196, 7713, 5796};
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(random_token(1, i, 32000), expected[i]);
}

TEST(Random, NormalsAreNearlyNormal) {
  constexpr std::uint64_t kCount = 1'000'000;
  double sum = 0;
  double squares = 0;
  double fourths = 0;
  double neighbours = 0;
  int beyond_two = 0;
  double previous = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const auto x = static_cast<double>(random_normal(3, i));
    ASSERT_LT(std::abs(x), 4.9);
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
    neighbours += x * previous;
    beyond_two += std::abs(x) > 2 ? 1 : 0;
    previous = x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.005);
  EXPECT_NEAR(squares / kCount, 1, 0.01);
  EXPECT_NEAR(fourths / kCount, 3 - 1.2 / 8, 0.05) << "the kurtosis of eight uniforms' sum";
  EXPECT_NEAR(neighbours / kCount, 0, 0.005);
  EXPECT_NEAR(beyond_two / static_cast<double>(kCount), 0.0455, 0.002);
}

TEST(Random, StreamsOfDifferentSeedsDiffer) {
  double product = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    product += static_cast<double>(random_normal(1, i)) * static_cast<double>(random_normal(2, i));
  }
  EXPECT_NEAR(product / 100'000, 0, 0.02);
}

TEST(Random, TokensCoverTheVocabularyEvenly) {
  constexpr std::int64_t kVocab = 10;
  std::vector<int> counts(kVocab, 0);
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const std::int32_t token = random_token(5, i, kVocab);
    ASSERT_GE(token, 0);
    ASSERT_LT(token, kVocab);
    ++counts[static_cast<std::size_t>(token)];
  }
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
  EXPECT_EQ(random_token(5, 0, 1), 0);
}

}  // namespace
}  // namespace vramfit
