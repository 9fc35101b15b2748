#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/kernels/support/coded_moments.h"
#include "tests/kernels/support/finite_difference.h"
#include "tests/kernels/support/safetensors.h"
#include "tests/kernels/support/update_case.h"

namespace vramfit {
namespace {

/// The inputs that make_fixture.py gave to torch.optim.
OptimizerSettings fixture_settings() {
  OptimizerSettings settings;
  settings.learning_rate = 1e-2F;
  return settings;
}

class OptimizerFixtureTest : public testing::TestWithParam<const char*> {};

TEST_P(OptimizerFixtureTest, StepsAsTorchDoes) {
  const Safetensors reference(fixture("optimizers.safetensors"));
  const std::vector<double>& start = reference.values("param0");
  const std::vector<double>& gradients = reference.values("grads");
  const std::vector<double>& expected = reference.values(GetParam());
  UpdateCase update(optimizer_named(GetParam()), DType::Fp32, start, fixture_settings());
  const std::size_t count = start.size();
  for (std::size_t step = 0; step * count < gradients.size(); ++step) {
    const auto first = gradients.begin() + static_cast<std::ptrdiff_t>(step * count);
    update.step({first, first + static_cast<std::ptrdiff_t>(count)});
    const std::vector<double> values = values_of(update.parameter);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_NEAR(values[i], expected[step * count + i], 1e-6) << "step " << step + 1 << ", " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Torch, OptimizerFixtureTest,
                         testing::Values("adamw", "sgd", "sgd-momentum"), [](const auto& test) {
                           const std::string kind = test.param;
                           return kind == "sgd-momentum" ? "sgd_momentum" : kind;
                         });

class AdafactorFixtureTest : public testing::TestWithParam<const char*> {};

TEST_P(AdafactorFixtureTest, StepsAsTorchDoes) {
  const std::string name = GetParam();
  const Safetensors reference(fixture("adafactor.safetensors"));
  const auto& [shape, start] = reference.at("start/" + name);
  const bool matrix = shape.size() == 2;
  const std::vector<double>& gradients = reference.values("grads/" + name);
  const std::vector<double>& after = reference.values("after/" + name);
  OptimizerSettings settings;
  settings.learning_rate = static_cast<float>(reference.values("rate/" + name)[0]);
  settings.beta2_decay = -0.75F;
  settings.least_rms = 0x1p-10F;
  settings.weight_decay = 0.125F;
  UpdateCase update(optimizer_named("adafactor"), DType::Fp64, start, settings, matrix,
                    matrix ? shape[0] : 0);
  const auto count = static_cast<std::ptrdiff_t>(start.size());
  for (std::ptrdiff_t at = 0; at < std::ssize(gradients); at += count) {
    update.step({gradients.begin() + at, gradients.begin() + at + count});
    const std::vector<double> expected(after.begin() + at, after.begin() + at + count);
    EXPECT_LT(relative_error(values_of(update.parameter), expected), 1e-13)
        << "step " << 1 + at / count;
  }
  std::vector<double> states = reference.values((matrix ? "col_var/" : "variance/") + name);
  if (matrix) {
    const std::vector<double>& rows = reference.values("row_var/" + name);
    states.insert(states.end(), rows.begin(), rows.end());
  }
  EXPECT_LT(relative_error(values_of(update.variance), states), 1e-13);
}

INSTANTIATE_TEST_SUITE_P(Torch, AdafactorFixtureTest,
                         testing::Values("matrix", "vector", "small", "faint", "fainter"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Optimizer, AdamwDecaysOnlyWhatDecays) {
  OptimizerSettings settings;
  settings.learning_rate = 0.5F;
  settings.weight_decay = 0.25F;
  for (const bool decays : {false, true}) {
    UpdateCase update(optimizer_named("adamw"), DType::Fp64, {1, -2}, settings, decays);
    update.step({0, 0});
    EXPECT_EQ(values_of(update.parameter),
              decays ? (std::vector<double>{0.875, -1.75}) : (std::vector<double>{1, -2}));
  }
}

TEST(Optimizer, SgdDoesNotDecay) {
  OptimizerSettings settings;
  settings.learning_rate = 0.5F;
  UpdateCase update(optimizer_named("sgd"), DType::Fp64, {1, -2}, settings);
  update.step({0, 2});
  EXPECT_EQ(values_of(update.parameter), (std::vector<double>{1, -3}));
}

/// What -master is for: steps below half of a bf16 weight's last place are lost without it.
TEST(Optimizer, MastersKeepSmallSteps) {
  OptimizerSettings settings;
  settings.learning_rate = 1.0F;
  const double small = std::ldexp(1.0, -10);  // bf16 at 1 has steps of 2^-7 above and 2^-8 below
  UpdateCase plain(optimizer_named("sgd"), DType::Bf16, {1}, settings);
  UpdateCase with_master(optimizer_named("sgd-master"), DType::Bf16, {1}, settings);
  for (int step = 0; step < 8; ++step) {
    plain.step({small});
    with_master.step({small});
  }
  EXPECT_EQ(values_of(plain.parameter), std::vector<double>{1});
  EXPECT_EQ(values_of(with_master.parameter), std::vector<double>{1 - 8 * small});
  EXPECT_EQ(values_of(with_master.master), std::vector<double>{1 - 8 * small});
}

TEST(Optimizer, MomentsAreKeptInTheirDtype) {
  const double gradient = 1 + std::ldexp(1.0, -7);  // its square is no bf16 number
  UpdateCase wide(optimizer_named("adamw"), DType::Bf16, {1}, {});
  UpdateCase same(optimizer_named("adamw-same"), DType::Bf16, {1}, {});
  wide.step({gradient});
  same.step({gradient});
  ASSERT_EQ(wide.variance.format(), DType::Fp32);
  ASSERT_EQ(same.variance.format(), DType::Bf16);
  const double expected = (1 - static_cast<double>(0.95F)) * gradient * gradient;
  EXPECT_NEAR(values_of(wide.variance)[0], expected, 1e-7);
  EXPECT_NE(values_of(same.variance)[0], values_of(wide.variance)[0]);
  EXPECT_NEAR(values_of(same.variance)[0], expected, expected / 256);
  // The step itself is taken before rounding, so it is the same.
  EXPECT_EQ(values_of(same.parameter), values_of(wide.parameter));
}

/// An fp16 v underflows for gradients below about 1e-3; the step has to stay bounded.
TEST(Optimizer, AVarianceThatUnderflowsDoesNotBlowUpTheStep) {
  OptimizerSettings settings;
  settings.learning_rate = 1e-2F;
  UpdateCase update(optimizer_named("adamw-same"), DType::Fp16, {1}, settings, false);
  for (int step = 0; step < 5; ++step) update.step({1e-5});
  EXPECT_EQ(values_of(update.variance), std::vector<double>{0});
  EXPECT_NEAR(values_of(update.parameter)[0], 0.9, 0.06);
}

/// Gradients that differ by a factor of a thousand within a block, as those of rows do.
std::vector<double> uneven_gradient(std::size_t count, int step) {
  std::vector<double> gradient;
  for (std::size_t i = 0; i < count; ++i) {
    const double size = std::pow(10.0, -3.0 * static_cast<double>(i % 97) / 97);
    gradient.push_back(size * std::sin(static_cast<double>(i) + 0.3 * step));
  }
  return gradient;
}

// The bound is of the way that a weight can have gone, a learning rate a step: a code is up to half
// a step of its decade off, and most so where it is small beside its block's largest.
TEST(Optimizer, EightBitsStayNearFp64) {
  constexpr std::size_t kCount = 1000;  // the last block is not full
  constexpr int kSteps = 40;
  OptimizerSettings settings;
  settings.learning_rate = 1e-2F;
  const std::vector<double> start(kCount, 0.5);
  UpdateCase exact(optimizer_named("adamw"), DType::Fp64, start, settings);
  UpdateCase coded(optimizer_named("adamw-8bit"), DType::Fp64, start, settings);
  ASSERT_EQ(coded.scales.shape(), (Shape{2, 4}));
  for (int step = 1; step <= kSteps; ++step) {
    exact.step(uneven_gradient(kCount, step));
    coded.step(uneven_gradient(kCount, step));
  }
  const std::vector<double> expected = values_of(exact.parameter);
  const std::vector<double> found = values_of(coded.parameter);
  double worst = 0;
  double sum = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    const double off = std::abs(found[i] - expected[i]) / (kSteps * 1e-2);
    worst = std::max(worst, off);
    sum += off;
  }
  EXPECT_LT(worst, 0.3);
  EXPECT_LT(sum / kCount, 0.02);
}

/// One of the two that `update` keeps: 0 for m, 1 for v.
CodedMoment moment_of(const UpdateCase& update, int which) {
  const Tensor& codes = which == 0 ? update.momentum : update.variance;
  const auto* first = codes.as<std::uint8_t>();
  const std::int64_t blocks = update.scales.shape()[1];
  const auto* scales = update.scales.as<float>() + which * blocks;
  return {{first, first + codes.stored().elements()}, {scales, scales + blocks}};
}

TEST(Optimizer, EightBitsAreTheNearestOfWhatMomentsBecome) {
  for (const std::size_t count : {std::size_t{200}, std::size_t{5000}}) {
    const OptimizerSettings settings;
    UpdateCase update(optimizer_named("adamw-8bit"), DType::Fp32, std::vector<double>(count, 0.5),
                      settings);
    std::vector<double> m(count, 0);
    std::vector<double> v(count, 0);
    for (int step = 1; step <= 5; ++step) {
      const std::string what = "step " + std::to_string(step);
      const std::vector<double> gradient = uneven_gradient(count, step);
      std::vector<double> squares;
      for (const double g : gradient) squares.push_back(g * g);
      update.step(gradient);
      const CodedMoment momentum = moment_of(update, 0);
      const CodedMoment variance = moment_of(update, 1);
      expect_nearest<SignedCodes>(momentum, moved(m, settings.beta1, gradient), "m, " + what);
      expect_nearest<UnsignedCodes>(variance, moved(v, settings.beta2, squares), "v, " + what);
      m = momentum.values<SignedCodes>();
      v = variance.values<UnsignedCodes>();
    }
  }
}

TEST(Optimizer, EightBitsOfNothingStayNothing) {
  UpdateCase update(optimizer_named("adamw-8bit"), DType::Fp32, {1, 2}, {}, false);
  update.step({0, 0});
  EXPECT_EQ(values_of(update.parameter), (std::vector<double>{1, 2}));
  EXPECT_EQ(values_of(update.scales), (std::vector<double>{0, 0}));
}

// As of rows that no token has met for long.
TEST(Optimizer, EightBitsOfNextToNothingStayNumbers) {
  UpdateCase update(optimizer_named("adamw-8bit"), DType::Fp32, {1, 2}, {}, false);
  update.step({1e-38, 0});
  for (int step = 0; step < 3; ++step) update.step({0, 0});
  EXPECT_EQ(values_of(update.parameter)[1], 2);
  EXPECT_TRUE(std::isfinite(values_of(update.parameter)[0]));
}

// Chen et al. 2023, algorithm 2, step by step.
TEST(Optimizer, LionTakesTheSign) {
  OptimizerSettings settings;
  settings.learning_rate = 0.25F;
  settings.beta1 = 0.5F;
  settings.beta2 = 0.75F;
  settings.weight_decay = 0.5F;
  UpdateCase update(optimizer_named("lion"), DType::Fp64, {1, -2, 4}, settings);
  update.step({8, -4, 0});
  EXPECT_EQ(values_of(update.momentum), (std::vector<double>{2, -1, 0}));
  EXPECT_EQ(values_of(update.parameter),
            (std::vector<double>{1 - 0.125 - 0.25, -2 + 0.25 + 0.25, 4 - 0.5}));
  update.step({-1, 3, 0});  // c = 0.5, 1, 0
  EXPECT_EQ(values_of(update.momentum), (std::vector<double>{1.25, 0, 0}));
  EXPECT_EQ(values_of(update.parameter)[1], -1.5 + 0.1875 - 0.25);
}

TEST(Optimizer, RefusesStatesThatItsKindDoesNotKeep) {
  UpdateCase update(optimizer_named("adamw"), DType::Fp32, {1}, {});
  update.kind = optimizer_named("sgd");
  EXPECT_THROW(update.step({0}), std::logic_error);
}

}  // namespace
}  // namespace vramfit
