#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/support/finite_difference.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

constexpr std::int64_t kSeq = 3;
constexpr std::int64_t kHeadDim = 6;
constexpr std::int64_t kRotatedHeads = 3;  // two of queries, one of keys
constexpr std::int64_t kWidth = (kRotatedHeads + 1) * kHeadDim;

/// Whether sequences start anywhere but at 0.
class RotaryTest : public testing::TestWithParam<bool> {
 protected:
  void rotate(Tensor& tensor, bool backward) {
    bench.device.run(RotaryEmbedding{tensor, kSeq, kRotatedHeads, kHeadDim, frequencies,
                                     GetParam() ? &starts : nullptr, backward});
  }

  Workbench bench;
  const RopeFrequencies frequencies = rope_frequencies({}, kHeadDim);
  const Tensor qkv = bench.random({2 * kSeq, kWidth});
  const Tensor starts = bench.integers({4, 7}, {2});
};

TEST_P(RotaryTest, BackwardIsTheDerivative) {
  const Tensor cotangent = bench.random(qkv.shape());
  Tensor gradient = bench.copy(cotangent);
  rotate(gradient, true);
  expect_gradient(qkv, values_of(gradient), [&] {
    Tensor rotated = bench.copy(qkv);
    rotate(rotated, false);
    return inner_product(rotated, cotangent);
  });
}

TEST_P(RotaryTest, TurnsByThePositionAndLeavesValues) {
  Tensor rotated = bench.copy(qkv);
  rotate(rotated, false);
  const std::vector<double> before = values_of(qkv);
  const std::vector<double> after = values_of(rotated);
  for (std::int64_t n = 0; n < 2 * kSeq; ++n) {
    const std::int64_t start = GetParam() ? (n < kSeq ? 4 : 7) : 0;
    for (std::int64_t c = 0; c < kWidth; ++c) {
      const std::int64_t in_head = c % kHeadDim;
      const bool low = in_head < kHeadDim / 2;
      const std::int64_t pair = low ? in_head : in_head - kHeadDim / 2;
      const std::int64_t other = low ? c + kHeadDim / 2 : c - kHeadDim / 2;
      const auto at = [&](std::int64_t column) {
        return before[static_cast<std::size_t>(n * kWidth + column)];
      };
      const double theta = std::pow(10000.0, -2.0 * static_cast<double>(pair) / kHeadDim);
      const double angle = static_cast<double>(start + n % kSeq) * theta;
      const double turned = at(c) * std::cos(angle) + (low ? -1 : 1) * at(other) * std::sin(angle);
      const double expected = c < kRotatedHeads * kHeadDim ? turned : at(c);
      // The frequencies are floats.
      EXPECT_NEAR(after[static_cast<std::size_t>(n * kWidth + c)], expected, 1e-6);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Starts, RotaryTest, testing::Bool());

}  // namespace
}  // namespace vramfit
