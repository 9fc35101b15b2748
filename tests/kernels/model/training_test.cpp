#include <gtest/gtest.h>

#include "tests/kernels/support/host_run.h"
#include "tests/kernels/support/tiny_models.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

/// A tiny model that learns to continue a text, letter by letter.
class Lesson {
 public:
  Lesson(ModelConfig config, DType precision, const char* optimizer, float learning_rate) {
    config.hidden = 24;
    TrainingOptions options;
    options.precision = precision;
    options.optimizer = optimizer_named(optimizer);
    options.settings.learning_rate = learning_rate;
    options.seq = static_cast<std::int64_t>(text().size()) - 1;
    config.max_positions = options.seq;
    trainer_.emplace(host_.device, host_.ledger, config, options);
  }

  double first_loss() {
    trainer_->step(letters());
    return trainer_->loss();
  }
  double loss_after(int steps) {
    const BatchLoader batch = letters();
    for (int step = 0; step < steps; ++step) trainer_->step(batch);
    return trainer_->loss();
  }

 private:
  static std::string text() { return "to be or not to be"; }
  static BatchLoader letters() {
    std::vector<std::int32_t> tokens;
    for (const char letter : text()) tokens.push_back(letter == ' ' ? 26 : letter - 'a');
    return fixed_batch({tokens.begin(), tokens.end() - 1}, {tokens.begin() + 1, tokens.end()});
  }

  Host host_;
  std::optional<Trainer> trainer_;
};

struct Recipe {
  DType precision;
  const char* optimizer;
  float learning_rate;
};

void PrintTo(const Recipe& recipe, std::ostream* stream) {
  *stream << recipe.optimizer << " in " << name(recipe.precision);
}

std::string label(const Recipe& recipe) {
  std::string text = std::string(recipe.optimizer) + "_" + name(recipe.precision);
  for (char& letter : text) letter = letter == '-' ? '_' : letter;
  return text;
}

class OverfitTest : public testing::TestWithParam<Recipe> {};

TEST_P(OverfitTest, LearnsAShortTextByHeart) {
  const auto& [precision, optimizer, rate] = GetParam();
  for (const ModelConfig& config : {tiny_llama(), tiny_gpt2()}) {
    Lesson lesson(config, precision, optimizer, rate);
    EXPECT_LT(lesson.loss_after(60), 0.1) << config.name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Recipes, OverfitTest,
    testing::Values(Recipe{DType::Fp32, "adamw", 1e-2F}, Recipe{DType::Fp32, "adamw-8bit", 1e-2F},
                    Recipe{DType::Fp32, "lion", 5e-3F}, Recipe{DType::Fp32, "adafactor", 0.1F},
                    Recipe{DType::Bf16, "adamw-master", 1e-2F},
                    Recipe{DType::Fp16, "adamw-master", 1e-2F}, Recipe{DType::Fp16, "adamw", 1e-2F},
                    Recipe{DType::Bf16, "adamw-cpu", 1e-2F}),
    [](const auto& test) { return label(test.param); });

class OptimizerTest : public testing::TestWithParam<Recipe> {};

TEST_P(OptimizerTest, ReducesTheLoss) {
  const auto& [precision, optimizer, rate] = GetParam();
  Lesson lesson(tiny_llama(), precision, optimizer, rate);
  const double before = lesson.first_loss();
  EXPECT_GT(before, 3);
  EXPECT_LT(lesson.loss_after(15), 0.75 * before);
}

INSTANTIATE_TEST_SUITE_P(
    Recipes, OptimizerTest,
    testing::Values(
        Recipe{DType::Fp32, "sgd", 0.5F}, Recipe{DType::Fp32, "sgd-momentum", 0.1F},
        Recipe{DType::Fp32, "adamw", 1e-2F}, Recipe{DType::Fp32, "adamw-same", 1e-2F},
        Recipe{DType::Fp32, "adamw-8bit", 1e-2F}, Recipe{DType::Fp32, "lion", 3e-3F},
        Recipe{DType::Fp32, "adafactor", 0.05F}, Recipe{DType::Bf16, "adafactor", 0.05F},
        Recipe{DType::Fp16, "adafactor", 0.05F}, Recipe{DType::Bf16, "adamw-8bit", 1e-2F},
        Recipe{DType::Bf16, "lion", 3e-3F}, Recipe{DType::Fp16, "adamw-8bit", 1e-2F},
        Recipe{DType::Fp16, "lion", 3e-3F}, Recipe{DType::Bf16, "sgd", 0.5F},
        Recipe{DType::Bf16, "sgd-master", 0.5F}, Recipe{DType::Bf16, "sgd-momentum", 0.1F},
        Recipe{DType::Bf16, "adamw", 1e-2F}, Recipe{DType::Bf16, "adamw-master", 1e-2F},
        Recipe{DType::Bf16, "adamw-same", 1e-2F}, Recipe{DType::Fp16, "sgd", 0.5F},
        Recipe{DType::Fp16, "sgd-master", 0.5F}, Recipe{DType::Fp16, "sgd-momentum", 0.1F},
        Recipe{DType::Fp16, "adamw", 1e-2F}, Recipe{DType::Fp16, "adamw-master", 1e-2F},
        Recipe{DType::Fp16, "adamw-same", 1e-2F}),
    [](const auto& test) { return label(test.param); });

// The host's memory is another place, not other arithmetic.
TEST(HostStates, TrainToTheBitAsOnTheDevice) {
  for (const DType precision : {DType::Fp32, DType::Fp16, DType::Bf16}) {
    TrainingOptions options;
    options.precision = precision;
    options.settings.learning_rate = 1e-2F;
    options.batch = 2;
    options.seq = 5;
    options.accumulate = 2;
    options.checkpointing.kind = Checkpoint::Full;
    for (const bool adapts : {false, true}) {
      const ModelConfig config = small_llama();
      if (adapts) options.lora = LoraOptions{4, 8.0F, usual_lora_targets(config)};
      std::vector<std::vector<double>> weights[2];
      for (const bool on_host : {false, true}) {
        options.optimizer = optimizer_named(on_host ? "adamw-cpu" : "adamw");
        Host host;
        Trainer trainer(host.device, host.ledger, config, options);
        randomize(host.device, trainer.model().weights);
        const BatchLoader batches = random_batches(config.vocab, 5);
        for (int step = 0; step < 3; ++step) trainer.step(batches);
        for (const Parameter* p : trainer.model().weights.trained()) {
          weights[on_host].push_back(values_of(p->value));
        }
      }
      EXPECT_EQ(weights[0], weights[1]) << name(precision) << ", " << adapts;
    }
  }
}

}  // namespace
}  // namespace vramfit
