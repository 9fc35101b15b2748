#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>

#include "model/ops/workspaces.h"
#include "tests/kernels/support/finite_difference.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

constexpr std::int64_t kModelWidth = 5;
constexpr std::int64_t kFfn = 7;

/// down(act(up(x))), with a random gradient of its output.
class MlpTest : public testing::TestWithParam<std::tuple<ActivationKind, std::int64_t>> {
 protected:
  const ActivationKind kind = std::get<0>(GetParam());
  const std::int64_t rows = std::get<1>(GetParam());

  std::int64_t up_width() const { return kind == ActivationKind::SwiGlu ? 2 * kFfn : kFfn; }

  void forward() { bench.device.run(MlpUpForward{kind, x, up, &bias, pre, act, workspace}); }

  double objective() {
    forward();
    Tensor y = bench.empty({rows, kModelWidth});
    bench.device.run(LinearForward{act, down, nullptr, nullptr, y, workspace});
    return inner_product(y, cotangent);
  }

  Workbench bench;
  Tensor x = bench.random({rows, kModelWidth});
  Tensor up = bench.random({up_width(), kModelWidth});
  Tensor bias = bench.random({up_width()});
  Tensor down = bench.random({kModelWidth, kFfn});
  Tensor cotangent = bench.random({rows, kModelWidth});
  Tensor pre = bench.empty({rows, up_width()});
  Tensor act = bench.empty({rows, kFfn});
  Tensor workspace = bench.bytes(0);
};

TEST_P(MlpTest, BackwardIsTheDerivative) {
  forward();
  Tensor dpre = bench.copy(pre);
  Tensor act_again = bench.empty(act.shape());
  bench.device.run(LinearBackwardInput{cotangent, down, act_again, false, workspace});
  bench.device.run(ActivateBackward{kind, dpre, act_again});
  EXPECT_EQ(values_of(act_again), values_of(act)) << "the activation is to come back";

  // The gradient of `pre` shows in those of everything it is computed from.
  Tensor dx = bench.empty(x.shape());
  bench.device.run(LinearBackwardInput{dpre, up, dx, false, workspace});
  Gradient dup = bench.gradient_of(up, false);
  Gradient dbias = bench.gradient_of(bias, false);
  Tensor partials = bench.sums(bias_partials_shape(rows, up_width()));
  bench.device.run(
      LinearBackwardWeight{x, dpre, dup.tensor, false, &dbias.tensor, false, &partials, workspace});
  const auto by_objective = [this] { return objective(); };
  expect_gradient(x, values_of(dx), by_objective);
  expect_gradient(up, dup.added(), by_objective);
  expect_gradient(bias, dbias.added(), by_objective);
}

TEST_P(MlpTest, ActivationByItsFormula) {
  forward();
  const std::vector<double> in = values_of(pre);
  const std::vector<double> out = values_of(act);
  for (std::size_t n = 0; n < static_cast<std::size_t>(rows); ++n) {
    for (std::size_t j = 0; j < kFfn; ++j) {
      const double z = in[n * static_cast<std::size_t>(up_width()) + j];
      double expected = 0.5 * z * (1 + std::tanh(std::sqrt(2 / M_PI) * (z + 0.044715 * z * z * z)));
      if (kind == ActivationKind::SwiGlu) {
        expected = z / (1 + std::exp(-z)) * in[n * 2 * kFfn + kFfn + j];
      }
      EXPECT_NEAR(out[n * kFfn + j], expected, 1e-14);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, MlpTest,
                         testing::Combine(testing::Values(ActivationKind::SwiGlu,
                                                          ActivationKind::Gelu),
                                          testing::Values(1, 4)),
                         [](const auto& test) {
                           const bool swiglu = std::get<0>(test.param) == ActivationKind::SwiGlu;
                           return (swiglu ? "SwiGluOf" : "GeluOf") +
                                  std::to_string(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace vramfit
