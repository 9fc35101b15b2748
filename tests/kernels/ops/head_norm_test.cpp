#include <gtest/gtest.h>

#include <cmath>

#include "model/ops/workspaces.h"
#include "tests/kernels/support/finite_difference.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

constexpr float kEps = 1e-5F;

/// The norm of two sequences of three tokens, four query heads and two of keys and values.
struct HeadNormCase {
  static constexpr AttentionShape kShape = {2, 3, 4, 2, 6};

  Tensor forward(Tensor* keep_x, Tensor* keep_rstd) {
    Tensor normed = bench.copy(qkv);
    bench.device.run(HeadNormForward{kEps, kShape, normed, q_weight, k_weight, keep_x, keep_rstd});
    return normed;
  }

  Workbench bench;
  Tensor qkv = bench.random({kShape.tokens(), kShape.qkv_width()});
  Tensor q_weight = bench.random({kShape.head_dim});
  Tensor k_weight = bench.random({kShape.head_dim});
  Tensor x = bench.empty({kShape.tokens(), kShape.q_width() + kShape.kv_width()});
  Tensor rstd = bench.sums({kShape.tokens(), kShape.heads + kShape.kv_heads});
  Tensor partials = bench.sums(head_norm_partials_shape(kShape.tokens(), kShape.head_dim));
};

void check_backward(bool accumulate) {
  HeadNormCase c;
  const Tensor cotangent = c.bench.random(c.qkv.shape());
  c.forward(&c.x, &c.rstd);
  Tensor gradient = c.bench.copy(cotangent);
  Gradient dq = c.bench.gradient_of(c.q_weight, accumulate);
  Gradient dk = c.bench.gradient_of(c.k_weight, accumulate);
  c.bench.device.run(HeadNormBackward{HeadNormCase::kShape, c.x, c.rstd, c.q_weight, c.k_weight,
                                      gradient, &dq.tensor, dq.accumulate, &dk.tensor,
                                      dk.accumulate, &c.partials});
  const auto objective = [&] { return inner_product(c.forward(nullptr, nullptr), cotangent); };
  expect_gradient(c.qkv, values_of(gradient), objective);
  expect_gradient(c.q_weight, dq.added(), objective);
  expect_gradient(c.k_weight, dk.added(), objective);
}

TEST(HeadNorm, BackwardIsTheDerivative) {
  check_backward(false);
  check_backward(true);
}

TEST(HeadNorm, NormsEachHeadOfQueriesAndKeysAndLeavesValues) {
  HeadNormCase c;
  constexpr AttentionShape s = HeadNormCase::kShape;
  const std::vector<double> before = values_of(c.qkv);
  const std::vector<double> after = values_of(c.forward(&c.x, &c.rstd));
  const std::vector<double> q_weight = values_of(c.q_weight);
  const std::vector<double> k_weight = values_of(c.k_weight);
  for (std::int64_t n = 0; n < s.tokens(); ++n) {
    for (std::int64_t head = 0; head < s.heads + 2 * s.kv_heads; ++head) {
      const auto at = static_cast<std::size_t>(n * s.qkv_width() + head * s.head_dim);
      const bool is_value = head >= s.heads + s.kv_heads;
      double squares = 0;
      for (std::size_t i = 0; i < 6; ++i) squares += before[at + i] * before[at + i];
      const double rstd = 1 / std::sqrt(squares / 6 + static_cast<double>(kEps));
      for (std::size_t i = 0; i < 6; ++i) {
        const double weight = head < s.heads ? q_weight[i] : k_weight[i];
        EXPECT_NEAR(after[at + i], is_value ? before[at + i] : before[at + i] * rstd * weight,
                    1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace vramfit
