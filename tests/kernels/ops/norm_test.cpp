#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "model/ops/workspaces.h"
#include "tests/kernels/support/finite_difference.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

constexpr float kEps = 1e-5F;

/// One norm, forward and backward, with a random gradient of its output.
class NormCase {
 public:
  NormCase(NormKind kind, std::int64_t rows, std::int64_t width)
      : kind_(kind),
        x(bench.random({rows, width})),
        weight(bench.random({width})),
        y(bench.empty({rows, width})),
        rstd(bench.sums({rows})),
        cotangent(bench.random({rows, width})) {
    if (kind == NormKind::LayerNorm) {
      bias = bench.random({width});
      mean = bench.sums({rows});
    }
  }

  void forward() {
    bench.device.run(NormForward{kind_, kEps, x, weight, or_null(bias), y, &rstd, or_null(mean)});
  }

  /// Returns what dy held afterwards.
  std::vector<double> backward(Gradient& dx, Gradient& dweight, Gradient* dbias) {
    Tensor dy = bench.copy(cotangent);
    Tensor partials = bench.sums(norm_partials_shape(kind_, x.shape()[0], x.shape()[1]));
    bench.device.run(NormBackward{kind_, x, rstd, or_null(mean), weight, or_null(bias), dy,
                                  dx.tensor, dx.accumulate, &dweight.tensor, dweight.accumulate,
                                  dbias == nullptr ? nullptr : &dbias->tensor,
                                  dbias != nullptr && dbias->accumulate, &partials});
    return values_of(dy);
  }

  double objective() {
    forward();
    return inner_product(y, cotangent);
  }

  Workbench bench;

 private:
  static Tensor* or_null(Tensor& tensor) { return tensor ? &tensor : nullptr; }
  NormKind kind_;

 public:
  Tensor x;
  Tensor weight;
  Tensor bias;
  Tensor y;
  Tensor rstd;
  Tensor mean;
  Tensor cotangent;
};

void check_backward(NormKind kind, std::int64_t rows, std::int64_t width, bool accumulate_dx,
                    bool accumulate_parameters) {
  NormCase norm(kind, rows, width);
  norm.forward();
  const std::vector<double> y = values_of(norm.y);
  Gradient dx = norm.bench.gradient_of(norm.x, accumulate_dx);
  Gradient dweight = norm.bench.gradient_of(norm.weight, accumulate_parameters);
  std::optional<Gradient> dbias;
  if (norm.bias) dbias = norm.bench.gradient_of(norm.bias, accumulate_parameters);

  EXPECT_EQ(norm.backward(dx, dweight, dbias ? &*dbias : nullptr), y) << "dy is to become y";
  const auto objective = [&norm] { return norm.objective(); };
  expect_gradient(norm.x, dx.added(), objective);
  expect_gradient(norm.weight, dweight.added(), objective);
  if (dbias) expect_gradient(norm.bias, dbias->added(), objective);
}

class NormTest : public testing::TestWithParam<NormKind> {};

TEST_P(NormTest, BackwardIsTheDerivative) {
  check_backward(GetParam(), 5, 7, false, false);
  check_backward(GetParam(), 4, 9, true, false);
  check_backward(GetParam(), 4, 9, false, true);
  check_backward(GetParam(), 1, 3, true, true);
}

TEST_P(NormTest, BackwardSumsMoreRowsThanColumnSumGroups) {
  check_backward(GetParam(), kColumnSumGroups + 3, 3, false, true);
}

TEST_P(NormTest, ForwardWithoutStatisticsYieldsTheSame) {
  NormCase norm(GetParam(), 3, 5);
  norm.forward();
  const std::vector<double> y = values_of(norm.y);
  set_values(norm.y, std::vector<double>(15, NAN));
  norm.bench.device.run(NormForward{GetParam(), kEps, norm.x, norm.weight,
                                    norm.bias ? &norm.bias : nullptr, norm.y, nullptr, nullptr});
  EXPECT_EQ(values_of(norm.y), y);
}

INSTANTIATE_TEST_SUITE_P(Kinds, NormTest, testing::Values(NormKind::RmsNorm, NormKind::LayerNorm),
                         [](const auto& kind) {
                           return kind.param == NormKind::RmsNorm ? "RmsNorm" : "LayerNorm";
                         });

TEST(Norm, RmsNormByHand) {
  Workbench bench;
  const Tensor x = bench.empty({1, 2});
  const Tensor weight = bench.empty({2});
  set_values(x, {3, 4});
  set_values(weight, {2, 10});
  Tensor y = bench.empty({1, 2});
  Tensor rstd = bench.sums({1});
  bench.device.run(NormForward{NormKind::RmsNorm, 0.0F, x, weight, nullptr, y, &rstd, nullptr});
  const double root = std::sqrt(12.5);
  EXPECT_NEAR(values_of(rstd)[0], 1 / root, 1e-15);
  EXPECT_NEAR(values_of(y)[0], 6 / root, 1e-15);
  EXPECT_NEAR(values_of(y)[1], 40 / root, 1e-15);
}

TEST(Norm, LayerNormByHand) {
  Workbench bench;
  const Tensor x = bench.empty({1, 2});
  const Tensor weight = bench.empty({2});
  const Tensor bias = bench.empty({2});
  set_values(x, {3, 7});
  set_values(weight, {2, 10});
  set_values(bias, {0.5, -1});
  Tensor y = bench.empty({1, 2});
  Tensor rstd = bench.sums({1});
  Tensor mean = bench.sums({1});
  bench.device.run(NormForward{NormKind::LayerNorm, 0.0F, x, weight, &bias, y, &rstd, &mean});
  EXPECT_EQ(values_of(mean)[0], 5);
  EXPECT_EQ(values_of(rstd)[0], 0.5);
  EXPECT_EQ(values_of(y), (std::vector<double>{-1.5, 9}));
}

TEST(Norm, RefusesABiasThatOnlyLayerNormHas) {
  Workbench bench;
  const Tensor x = bench.random({1, 2});
  const Tensor weight = bench.random({2});
  Tensor y = bench.empty({1, 2});
  EXPECT_THROW(bench.device.run(
                   NormForward{NormKind::RmsNorm, kEps, x, weight, &weight, y, nullptr, nullptr}),
               std::logic_error);
}

}  // namespace
}  // namespace vramfit
