#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/support/host_run.h"
#include "tests/kernels/support/tiny_models.h"
#include "tests/kernels/support/workbench.h"

// Training whose linears multiply codes of 8 bits.

namespace vramfit {
namespace {

/// Of sizes that codes go with.
ModelConfig of_sixteens(ModelConfig config) {
  config.hidden = 32;
  config.heads = config.kv_heads = 2;
  config.head_dim = 16;
  config.ffn = 48;
  return config;
}

TrainingOptions options_in(const char* precision, const char* optimizer) {
  TrainingOptions options;
  options.precision = parse_model_precision(precision);
  options.optimizer = optimizer_named(optimizer);
  options.settings.learning_rate = 5e-3F;
  options.batch = 2;
  options.seq = 16;
  return options;
}

std::vector<double> losses(const ModelConfig& config, const TrainingOptions& options, int steps) {
  Host host(HostSource::kDefaultCapacity, Arch{90});
  const std::int64_t tokens = options.batch * options.seq;
  const BatchLoader batch =
      fixed_batch(random_tokens(tokens, config.vocab, 1), random_tokens(tokens, config.vocab, 2));
  Trainer trainer(host.device, host.ledger, config, options);
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    trainer.step(batch);
    losses.push_back(trainer.loss());
  }
  return losses;
}

// One text by heart: bf16's losses fall from 3.4 to under a tenth of it, and these beside them.
TEST(CodesTraining, LearnsAsIn16Bits) {
  for (const ModelConfig& tiny : {tiny_llama(), tiny_gpt2(), tiny_qwen2()}) {
    for (const char* optimizer : {"adamw", "adamw-master"}) {
      SCOPED_TRACE(tiny.name + ", " + optimizer);
      const ModelConfig config = of_sixteens(tiny);
      const std::vector<double> plain = losses(config, options_in("bf16", optimizer), 40);
      const std::vector<double> codes = losses(config, options_in("fp8", optimizer), 40);
      EXPECT_NE(codes.front(), plain.front()) << "codes round";
      double furthest = 0;
      for (std::size_t i = 0; i < plain.size(); ++i) {
        furthest = std::max(furthest, std::abs(codes[i] - plain[i]) / plain.front());
      }
      EXPECT_LT(furthest, 0.05);
      EXPECT_LT(plain.back(), 0.5 * plain.front());
    }
  }
}

/// Of every parameter, after one pass.
std::vector<std::vector<double>> gradients(const ModelConfig& config,
                                           const TrainingOptions& options) {
  Host host(HostSource::kDefaultCapacity, Arch{90});
  Trainer trainer(host.device, host.ledger, config, options);
  trainer.forward_and_backward(random_batches(config.vocab, 5));
  std::vector<std::vector<double>> all;
  for (const Parameter& p : trainer.model().weights.all()) all.push_back(values_of(p.gradient));
  return all;
}

// Each gradient is near that of plain products: codes are off by a sixteenth at most, and sums of
// them by less.
TEST(CodesTraining, HasGradientsNearThoseOf16Bits) {
  for (const ModelConfig& tiny : {tiny_llama(), tiny_gpt2()}) {
    const ModelConfig config = of_sixteens(tiny);
    const auto plain = gradients(config, options_in("bf16", "adamw"));
    const auto codes = gradients(config, options_in("fp8", "adamw"));
    ASSERT_EQ(plain.size(), codes.size());
    for (std::size_t p = 0; p < plain.size(); ++p) {
      double apart = 0;
      double size = 0;
      for (std::size_t i = 0; i < plain[p].size(); ++i) {
        apart += (codes[p][i] - plain[p][i]) * (codes[p][i] - plain[p][i]);
        size += plain[p][i] * plain[p][i];
      }
      EXPECT_LT(std::sqrt(apart / size), 0.1) << config.name << ", parameter " << p;
    }
  }
}

TEST(CodesTraining, HasTheSameGradientsWithCheckpointing) {
  for (const ModelConfig& tiny : {tiny_llama(), tiny_gpt2()}) {
    const ModelConfig config = of_sixteens(tiny);
    TrainingOptions options = options_in("fp8", "adamw");
    const auto without = gradients(config, options);
    for (const Checkpoint kind : {Checkpoint::Selective, Checkpoint::Full}) {
      options.checkpointing.kind = kind;
      EXPECT_EQ(gradients(config, options), without) << config.name << ", " << name(kind);
    }
  }
}

}  // namespace
}  // namespace vramfit
