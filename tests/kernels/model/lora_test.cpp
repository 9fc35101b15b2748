#include "model/transformer/lora.h"

#include <gtest/gtest.h>

#include "tests/kernels/support/finite_difference.h"
#include "tests/kernels/support/formats.h"
#include "tests/kernels/support/host_run.h"
#include "tests/kernels/support/tiny_models.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

TrainingOptions adapted(const std::vector<std::string>& targets, DType precision) {
  TrainingOptions options;
  options.precision = precision;
  options.lora = LoraOptions{3, 5.0F, targets};
  options.batch = 2;
  options.seq = 4;
  return options;
}

/// The loss as a forward pass alone has it: an evaluation for finite differences.
double loss_of(Trainer& trainer, const BatchLoader& batch) {
  trainer.model().weights.free_gradients();
  trainer.forward_and_backward(batch);
  return trainer.loss();
}

class LoraModelTest : public testing::TestWithParam<std::string> {
 protected:
  const ModelConfig config = tiny_model(GetParam());
  const BatchLoader batch =
      fixed_batch(random_tokens(8, config.vocab, 1), random_tokens(8, config.vocab, 2));
};

TEST_P(LoraModelTest, EveryGradientIsTheDerivative) {
  std::vector<std::vector<std::string>> lists = {usual_lora_targets(config), lora_targets(config)};
  // One linear of those that are fused, or of a half of the block; gpt2's c_proj is in both.
  for (const std::string& name : lora_targets(config)) lists.push_back({name});
  for (const auto& targets : lists) {
    SCOPED_TRACE(targets.front() + ", " + std::to_string(targets.size()));
    Host host;
    TrainingOptions options = adapted(targets, DType::Fp64);
    if (targets.size() == 1) options.lora->rank = 2 * config.ffn;  // above any width
    Trainer trainer(host.device, host.ledger, config, options);
    Weights& weights = trainer.model().weights;
    randomize(host.device, weights);
    loss_of(trainer, batch);
    std::vector<std::vector<double>> gradients = gradients_of(weights);
    std::size_t adapters = 0;
    for (std::size_t i = 0; i < weights.all().size(); ++i) {
      const Parameter& parameter = weights.all()[i];
      SCOPED_TRACE(parameter.spec.name.text());
      if (!parameter.trained) {
        EXPECT_FALSE(parameter.gradient) << "it is frozen";
        continue;
      }
      ++adapters;
      expect_gradient(parameter.value, gradients[i], [&] { return loss_of(trainer, batch); });
    }
    EXPECT_GT(adapters, 0U);
  }
}

// b starts at zero.
TEST_P(LoraModelTest, StartsFromTheModelAsItIs) {
  Host host;
  Host other;
  TrainingOptions options = adapted(lora_targets(config), DType::Fp32);
  Trainer with(host.device, host.ledger, config, options);
  options.lora.reset();
  Trainer without(other.device, other.ledger, config, options);
  EXPECT_EQ(loss_of(with, batch), loss_of(without, batch));
}

TEST_P(LoraModelTest, TrainsAdaptersAndNothingElse) {
  Host host;
  TrainingOptions options = adapted(lora_targets(config), DType::Fp32);
  options.settings.learning_rate = 2e-2F;
  Trainer trainer(host.device, host.ledger, config, options);
  // A frozen head of small weights, as models start with, tells tokens apart too little.
  randomize(host.device, trainer.model().weights);
  std::vector<std::vector<double>> before;
  for (const Parameter& p : trainer.model().weights.all()) before.push_back(values_of(p.value));
  trainer.step(batch);
  const double first = trainer.loss();
  for (int step = 0; step < 40; ++step) trainer.step(batch);
  EXPECT_LT(trainer.loss(), 0.7 * first);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Parameter& p = trainer.model().weights.all()[i];
    EXPECT_EQ(values_of(p.value) == before[i], !p.trained) << p.spec.name.text();
  }
}

TEST_P(LoraModelTest, HasTheSameGradientsWithCheckpointing) {
  const auto gradients = [&](Checkpoint kind) {
    TrainingOptions options = adapted(lora_targets(config), DType::Bf16);
    options.checkpointing.kind = kind;
    Host host;
    Trainer trainer(host.device, host.ledger, config, options);
    randomize(host.device, trainer.model().weights);
    trainer.forward_and_backward(batch);
    return gradients_of(trainer.model().weights);
  };
  const auto without = gradients(Checkpoint::None);
  EXPECT_EQ(gradients(Checkpoint::Selective), without);
  EXPECT_EQ(gradients(Checkpoint::Full), without);
}

// What is forgotten is computed from quantised weights, by other ops where up has no adapter.
TEST(LoraCheckpointing, OfQuantisedWeightsHasTheSameGradients) {
  const ModelConfig config = small_llama();
  for (const char* precision : {"nf4", "int8"}) {
    for (const std::int64_t seq : {4, 24, 72}) {
      const auto gradients = [&](Checkpoint kind) {
        TrainingOptions options = adapted(usual_lora_targets(config), DType::Bf16);
        options.precision = parse_model_precision(precision);
        options.checkpointing.kind = kind;
        options.batch = 1;
        options.seq = seq;
        Host host;
        Trainer trainer(host.device, host.ledger, config, options);
        trainer.forward_and_backward(
            fixed_batch(random_tokens(seq, config.vocab, 1), random_tokens(seq, config.vocab, 2)));
        return gradients_of(trainer.model().weights);
      };
      const auto without = gradients(Checkpoint::None);
      EXPECT_EQ(gradients(Checkpoint::Selective), without) << precision << " " << seq;
      EXPECT_EQ(gradients(Checkpoint::Full), without) << precision << " " << seq;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, LoraModelTest, testing::Values("llama", "qwen2", "qwen3", "gpt2"));

/// Of frozen weights that are quantised, and of the same weights in 16 bits as they are read back.
class QuantizedBaseTest : public testing::TestWithParam<const char*> {};

TEST_P(QuantizedBaseTest, HasTheGradientsOfWhatItStandsFor) {
  const ModelConfig config = small_llama();
  const ModelPrecision precision = parse_model_precision(GetParam());
  for (const std::int64_t seq : {4, 24, 72}) {  // few rows are multiplied in another way than many
    TrainingOptions options;
    options.precision = precision;
    options.lora = LoraOptions{8, 8.0F, lora_targets(config)};
    options.seq = seq;
    const BatchLoader batch =
        fixed_batch(random_tokens(seq, config.vocab, 1), random_tokens(seq, config.vocab, 2));
    Host host(HostSource::kDefaultCapacity, Arch{90});
    Trainer quantized(host.device, host.ledger, config, options);
    options.precision = DType::Bf16;
    Host other;
    Trainer plain(other.device, other.ledger, config, options);
    for (std::size_t i = 0; i < plain.model().weights.all().size(); ++i) {
      const Parameter& from = quantized.model().weights.all()[i];
      Parameter& to = plain.model().weights.all()[i];
      if (from.spec.role == Role::QkvLoraB || from.spec.role == Role::DownLoraB) {
        // So that the first halves have gradients, too.
        host.device.run(FillNormal{const_cast<Tensor&>(from.value), 0.0F, 0.05F, i});
      }
      set_values(to.value,
                 is_quantized(from.value.format())
                     ? dequantized_values(from.value, from.scales ? &from.scales : nullptr)
                     : values_of(from.value));
    }
    EXPECT_NEAR(loss_of(quantized, batch), loss_of(plain, batch), 2e-2);
    const auto ours = gradients_of(quantized.model().weights);
    const auto theirs = gradients_of(plain.model().weights);
    // Where inputs are quantised as well, their codes are a step off.
    const double bound = precision.inputs == precision.linears ? 0.2 : 5e-2;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const Parameter& p = plain.model().weights.all()[i];
      if (!p.trained) continue;
      EXPECT_LT(relative_error(ours[i], theirs[i]), bound) << p.spec.name.text();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, QuantizedBaseTest, testing::ValuesIn(quantized_names()),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace vramfit
