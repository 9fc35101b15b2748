#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "model/ops/workspaces.h"
#include "tests/kernels/support/finite_difference.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

struct LinearSizes {
  std::int64_t rows;
  std::int64_t in;
  std::int64_t out;
};

class LinearTest : public testing::TestWithParam<LinearSizes> {
 protected:
  LinearTest()
      : x(bench.random({GetParam().rows, GetParam().in})),
        weight(bench.random({GetParam().out, GetParam().in})),
        bias(bench.random({GetParam().out})),
        residual(bench.random({GetParam().rows, GetParam().out})),
        cotangent(bench.random({GetParam().rows, GetParam().out})),
        y(bench.empty({GetParam().rows, GetParam().out})),
        workspace(bench.bytes(0)) {}

  double objective() {
    bench.device.run(LinearForward{x, weight, &bias, &residual, y, workspace});
    return inner_product(y, cotangent);
  }

  void check_weight_and_bias(bool accumulate_weight, bool accumulate_bias) {
    Gradient dweight = bench.gradient_of(weight, accumulate_weight);
    Gradient dbias = bench.gradient_of(bias, accumulate_bias);
    Tensor partials = bench.sums(bias_partials_shape(GetParam().rows, GetParam().out));
    bench.device.run(LinearBackwardWeight{x, cotangent, dweight.tensor, accumulate_weight,
                                          &dbias.tensor, accumulate_bias, &partials, workspace});
    expect_gradient(weight, dweight.added(), [this] { return objective(); });
    expect_gradient(bias, dbias.added(), [this] { return objective(); });
  }

  Workbench bench;
  Tensor x;
  Tensor weight;
  Tensor bias;
  Tensor residual;
  Tensor cotangent;
  Tensor y;
  Tensor workspace;
};

TEST_P(LinearTest, BackwardInputIsTheDerivative) {
  Tensor dx = bench.empty(x.shape());
  bench.device.run(LinearBackwardInput{cotangent, weight, dx, false, workspace});
  expect_gradient(x, values_of(dx), [this] { return objective(); });

  const std::vector<double> once = values_of(dx);
  bench.device.run(LinearBackwardInput{cotangent, weight, dx, true, workspace});
  const std::vector<double> twice = values_of(dx);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_DOUBLE_EQ(twice[i], 2 * once[i]);
}

TEST_P(LinearTest, BackwardWeightIsTheDerivative) {
  check_weight_and_bias(false, false);
  check_weight_and_bias(true, false);
  check_weight_and_bias(false, true);
  check_weight_and_bias(true, true);
}

TEST_P(LinearTest, AddsBiasAndResidual) {
  objective();
  const std::vector<double> with_both = values_of(y);
  bench.device.run(LinearForward{x, weight, nullptr, nullptr, y, workspace});
  const std::vector<double> product = values_of(y);
  const std::vector<double> biases = values_of(bias);
  const std::vector<double> residuals = values_of(residual);
  for (std::size_t i = 0; i < product.size(); ++i) {
    EXPECT_NEAR(with_both[i], product[i] + biases[i % biases.size()] + residuals[i], 1e-12);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, LinearTest,
                         testing::Values(LinearSizes{1, 1, 1}, LinearSizes{1, 7, 5},
                                         LinearSizes{6, 3, 9}, LinearSizes{300, 2, 3}),
                         [](const auto& sizes) {
                           return std::to_string(sizes.param.rows) + "x" +
                                  std::to_string(sizes.param.in) + "to" +
                                  std::to_string(sizes.param.out);
                         });

TEST(Linear, ByHand) {
  Workbench bench;
  const Tensor x = bench.empty({2, 3});
  const Tensor weight = bench.empty({2, 3});
  set_values(x, {1, 2, 3, 4, 5, 6});
  set_values(weight, {1, 0, -1, 2, 1, 0});
  Tensor y = bench.empty({2, 2});
  Tensor workspace = bench.bytes(0);
  bench.device.run(LinearForward{x, weight, nullptr, nullptr, y, workspace});
  EXPECT_EQ(values_of(y), (std::vector<double>{-2, 4, -2, 13}));
}

TEST(Linear, WritesAColumnForEachRowThatTheWeightStores) {
  Workbench bench;
  const Tensor x = bench.random({2, 3});
  const Tensor weight = bench.random({5, 3}, {8, 3});
  Tensor y = bench.empty({2, 8});
  Tensor workspace = bench.bytes(0);
  bench.device.run(LinearForward{x, weight, nullptr, nullptr, y, workspace});
  const std::vector<double> values = values_of(y);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i] == 0, i % 8 >= 5) << i;
  }
}

TEST(Linear, RefusesTensorsOfTheWrongSizeOrDtype) {
  Workbench bench;
  Workbench other(DType::Fp32);
  const Tensor x = bench.random({2, 3});
  const Tensor weight = bench.random({5, 3});
  const Tensor float_weight = other.random({5, 3});
  Tensor y = bench.empty({2, 5});
  Tensor narrow = bench.empty({2, 4});
  Tensor workspace = bench.bytes(0);
  EXPECT_NO_THROW(bench.device.run(LinearForward{x, weight, nullptr, nullptr, y, workspace}));
  EXPECT_THROW(bench.device.run(LinearForward{x, weight, nullptr, nullptr, narrow, workspace}),
               std::logic_error);
  EXPECT_THROW(bench.device.run(LinearForward{x, float_weight, nullptr, nullptr, y, workspace}),
               std::logic_error);
}

}  // namespace
}  // namespace vramfit
