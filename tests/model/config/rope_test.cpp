#include "model/config/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace vramfit {
namespace {

/// Indices of pairs and their frequencies, computed to 40 digits from the formulas in the papers
/// and in transformers' _compute_llama3_parameters.
using Expected = std::vector<std::pair<std::size_t, double>>;

void expect_frequencies(const Rope& rope, std::int64_t head_dim, const Expected& expected) {
  const RopeFrequencies frequencies = rope_frequencies(rope, head_dim);
  ASSERT_EQ(frequencies.pairs, head_dim / 2);
  for (const auto& [pair, value] : expected) {
    EXPECT_NEAR(static_cast<double>(frequencies.inverse[pair]) / value, 1.0, 1e-7)
        << "pair " << pair;
  }
}

TEST(RopeFrequencies, FallGeometrically) {
  expect_frequencies({}, 128,
                     {{0, 1.0},
                      {1, 8.659643234e-01},
                      {17, 8.659643234e-02},
                      {32, 1.0e-02},
                      {63, 1.154781985e-04}});
  Rope qwen2;
  qwen2.theta = 1e6;
  expect_frequencies(
      qwen2, 64, {{0, 1.0}, {1, 6.493816316e-01}, {13, 3.651741273e-03}, {31, 1.539926526e-06}});
}

TEST(RopeFrequencies, LinearScalingDividesThem) {
  Rope rope;
  rope.scaling = Rope::Scaling::Linear;
  rope.factor = 4;
  expect_frequencies(rope, 128, {{0, 0.25}, {32, 2.5e-03}, {63, 1.154781985e-04 / 4}});
}

Rope llama3_by(double factor) {
  Rope rope;
  rope.theta = 500000;
  rope.scaling = Rope::Scaling::Llama3;
  rope.factor = factor;
  rope.low_freq_factor = 1;
  rope.high_freq_factor = 4;
  rope.original_positions = 8192;
  return rope;
}

// Llama 3.1: the short wavelengths stay, the long ones are stretched by 8, those between blended.
TEST(RopeFrequencies, Llama3ScalingStretchesTheLongOnes) {
  expect_frequencies(llama3_by(8), 128,
                     {{0, 1.0},
                      {1, 8.146172339e-01},
                      {20, 1.656044008e-02},
                      {28, 3.211445995e-03},  // the last that stays
                      {29, 2.166570764e-03},
                      {30, 1.371893568e-03},
                      {31, 8.567514129e-04},
                      {32, 5.248461610e-04},
                      {33, 3.126937504e-04},
                      {34, 1.785078128e-04},
                      {35, 9.556212354e-05},  // the first that is stretched in full
                      {36, 7.784655274e-05},
                      {63, 3.068925989e-07}});
}

// Llama 3.2.
TEST(RopeFrequencies, Llama3ScalingBy32) {
  expect_frequencies(llama3_by(32), 64,
                     {{0, 1.0},
                      {8, 3.760603093e-02},
                      {14, 3.211445995e-03},
                      {15, 1.290547928e-03},
                      {16, 4.295567966e-04},
                      {17, 9.708287803e-05},
                      {18, 1.946163818e-05},
                      {31, 9.418306725e-08}});
}

TEST(RopeFrequencies, AreFiniteAtTheEdgesOfWhatConfigsMaySay) {
  for (const double theta : {1.0, 1e12}) {
    for (const double factor : {1.0, 1e6}) {
      for (const double low : {0.0, 1.0, 1e5}) {
        for (const Rope::Scaling scaling :
             {Rope::Scaling::None, Rope::Scaling::Linear, Rope::Scaling::Llama3}) {
          const RopeFrequencies frequencies =
              rope_frequencies({theta, scaling, factor, low, 1e6, 1.0}, kMaxHeadDim);
          ASSERT_EQ(frequencies.pairs, kMaxHeadDim / 2);
          for (const float f : frequencies.inverse) {
            ASSERT_TRUE(std::isfinite(f) && f > 0 && f <= 1)
                << f << " theta " << theta << " factor " << factor << " low " << low;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace vramfit
