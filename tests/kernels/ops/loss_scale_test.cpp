#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/kernels/support/host_run.h"
#include "tests/kernels/support/tiny_models.h"
#include "tests/kernels/support/update_case.h"

namespace vramfit {
namespace {

constexpr float kScale = 1024.0F;

OptimizerSettings fast() {
  OptimizerSettings settings;
  settings.learning_rate = 0.125F;
  return settings;
}

TEST(LossScale, GradientsAreDividedByIt) {
  for (const char* kind : {"sgd-momentum", "adamw-master"}) {
    UpdateCase plain(optimizer_named(kind), DType::Fp16, {1, -2}, fast());
    UpdateCase scaled(optimizer_named(kind), DType::Fp16, {1, -2}, fast());
    scaled.use_scaler(kScale, 0);
    for (int step = 0; step < 3; ++step) {
      plain.step({0.25, 1});
      scaled.step({0.25 * double{kScale}, double{kScale}});
    }
    EXPECT_EQ(values_of(scaled.parameter), values_of(plain.parameter));
    EXPECT_EQ(values_of(scaled.momentum), values_of(plain.momentum));
    EXPECT_EQ(scaled.scaler_values(), (std::vector<double>{double{kScale}, 3, 0}));
  }
}

TEST(LossScale, AnOverflowUpdatesNothingAndHalvesIt) {
  for (const double bad :
       {static_cast<double>(INFINITY), static_cast<double>(-INFINITY), static_cast<double>(NAN)}) {
    UpdateCase update(optimizer_named("adamw-master"), DType::Fp16, {1, -2}, fast());
    update.use_scaler(kScale, 7);
    update.step({100, 50});
    const std::vector<double> parameter = values_of(update.parameter);
    const std::vector<double> master = values_of(update.master);
    const std::vector<double> momentum = values_of(update.momentum);
    const std::vector<double> variance = values_of(update.variance);
    ASSERT_NE(parameter, (std::vector<double>{1, -2}));

    update.step({100, bad});
    EXPECT_EQ(values_of(update.parameter), parameter);
    EXPECT_EQ(values_of(update.master), master);
    EXPECT_EQ(values_of(update.momentum), momentum);
    EXPECT_EQ(values_of(update.variance), variance);
    EXPECT_EQ(update.scaler_values(), (std::vector<double>{double{kScale} / 2, 0, 1}));

    update.step({100, 50});
    EXPECT_NE(values_of(update.parameter), parameter);
    EXPECT_EQ(update.scaler_values(), (std::vector<double>{double{kScale} / 2, 1, 0}));
  }
}

TEST(LossScale, AnOverflowAtTheFirstStepInitializesAllTheSame) {
  for (const OptimizerKind& kind : optimizer_kinds()) {
    SCOPED_TRACE(kind.name);
    UpdateCase update(kind, DType::Fp16, {1, -2}, fast());
    update.use_scaler(kScale, 0);
    update.step({static_cast<double>(INFINITY), 0});
    EXPECT_EQ(values_of(update.parameter), (std::vector<double>{1, -2}));
    if (kind.master) {
      EXPECT_EQ(values_of(update.master), (std::vector<double>{1, -2}));
    }
    for (const Tensor* state : {&update.momentum, &update.variance, &update.scales}) {
      if (!*state) continue;
      const auto* bytes = state->as<std::uint8_t>();
      EXPECT_TRUE(std::all_of(bytes, bytes + state->bytes(), [](auto byte) { return byte == 0; }));
    }
  }
}

TEST(LossScale, DoublesAfterEnoughGoodSteps) {
  UpdateCase update(optimizer_named("sgd"), DType::Fp16, {1}, fast());
  update.use_scaler(kScale, LossScale::kGrowthInterval - 2);
  update.step({0});
  EXPECT_EQ(update.scaler_values(),
            (std::vector<double>{double{kScale}, double{LossScale::kGrowthInterval} - 1, 0}));
  update.step({0});
  EXPECT_EQ(update.scaler_values(), (std::vector<double>{2 * double{kScale}, 0, 0}));
}

/// A whole model whose first gradients overflow fp16: it skips steps until the scale is low enough.
TEST(LossScale, ATrainingRunFindsItsScale) {
  const ModelConfig config = tiny_llama();
  TrainingOptions options;
  options.precision = DType::Fp16;
  options.seq = 2;
  options.settings.learning_rate = 1e-3F;
  Host host;
  Trainer trainer(host.device, host.ledger, config, options);
  randomize(host.device, trainer.model().weights);
  Tensor& head = trainer.model().weights.all().back().value;
  host.device.run(FillNormal{head, 0.0F, 40.0F, 3});

  const BatchLoader batch = fixed_batch({1, 2}, {3, 4});
  const std::vector<double> start = values_of(head);
  int waited = 0;
  do {
    trainer.step(batch);
    ASSERT_TRUE(std::isfinite(trainer.loss()));
    ASSERT_LT(++waited, 20);
  } while (values_of(head) == start);
  EXPECT_GT(waited, 2);
  const double before = trainer.loss();
  for (int step = 0; step < 30; ++step) trainer.step(batch);
  EXPECT_LT(trainer.loss(), 0.9 * before);
}

}  // namespace
}  // namespace vramfit
