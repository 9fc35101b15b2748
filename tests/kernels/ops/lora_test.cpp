#include <gtest/gtest.h>

#include "model/ops/lora_ops.h"
#include "tests/kernels/support/finite_difference.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

constexpr std::int64_t kRows = 5;
constexpr std::int64_t kOut = 11;
constexpr std::int64_t kRank = 2;

/// Beside q and v of something: columns between them are nobody's.
class LoraTest : public testing::Test {
 protected:
  /// y = base + what adapters add.
  Tensor forward() {
    Tensor y = bench.copy(base);
    bench.device.run(LoraForward{adapters, u, b, y, workspace});
    return y;
  }
  double objective() { return inner_product(forward(), cotangent); }

  const AdaptersOfLinear adapters{{{1, 3}, {6, 4}}, 0.75F};
  Workbench bench;
  Tensor base = bench.random({kRows, kOut});
  Tensor u = bench.random({kRows, 2 * kRank});
  Tensor b = bench.random({7, kRank});
  Tensor cotangent = bench.random({kRows, kOut});
  Tensor workspace = bench.bytes(0);
};

TEST_F(LoraTest, AddsEachAdapterToItsColumns) {
  const std::vector<double> before = values_of(base);
  const std::vector<double> after = values_of(forward());
  const std::vector<double> us = values_of(u);
  const std::vector<double> bs = values_of(b);
  const std::vector<std::pair<std::size_t, std::size_t>> rows_and_first = {
      {0, 0}, {1, 0}, {2, 0}, {3, 2}, {4, 2}, {5, 2}, {6, 2}};
  const std::vector<int> row_of = {-1, 0, 1, 2, -1, -1, 3, 4, 5, 6, -1};
  for (std::size_t n = 0; n < kRows; ++n) {
    for (std::size_t column = 0; column < kOut; ++column) {
      double expected = before[n * kOut + column];
      if (row_of[column] >= 0) {
        const auto& [row, first] = rows_and_first[static_cast<std::size_t>(row_of[column])];
        for (std::size_t r = 0; r < kRank; ++r) {
          expected += 0.75 * us[n * 2 * kRank + first + r] * bs[row * kRank + r];
        }
      }
      EXPECT_NEAR(after[n * kOut + column], expected, 1e-12);
    }
  }
}

TEST_F(LoraTest, BackwardIsTheDerivative) {
  const auto by_objective = [this] { return objective(); };
  Tensor du = bench.empty(u.shape());
  bench.device.run(LoraBackwardInput{adapters, cotangent, b, du, workspace});
  expect_gradient(u, values_of(du), by_objective);
  for (const bool accumulate : {false, true}) {
    Gradient db = bench.gradient_of(b, accumulate);
    bench.device.run(LoraBackwardWeight{adapters, u, cotangent, db.tensor, accumulate, workspace});
    expect_gradient(b, db.added(), by_objective);
  }
}

}  // namespace
}  // namespace vramfit
