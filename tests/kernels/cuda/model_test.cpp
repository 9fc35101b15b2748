#include <algorithm>
#include <cmath>

#include "kernels/cpu/host_source.h"
#include "kernels/cuda/memory/pass_through.h"
#include "model/ops/workspaces.h"
#include "model/transformer/run.h"
#include "tests/kernels/cuda/support/gpu_run.h"
#include "tests/kernels/support/fixture_checks.h"
#include "tests/kernels/support/host_run.h"
#include "tests/kernels/support/losses_by_heart.h"
#include "tests/kernels/support/tiny_models.h"
#include "tests/kernels/support/workbench.h"

// Whole models on the GPU: against PyTorch, against the CPU, and without a pool.

namespace vramfit {
namespace {

using ModelAndForm = std::tuple<std::string, AttentionForm>;

std::string label(const testing::TestParamInfo<ModelAndForm>& test) {
  return std::get<0>(test.param) + "_" + name(std::get<1>(test.param));
}

const auto kModelsAndForms =
    testing::Combine(testing::Values("llama", "qwen2", "qwen3", "gpt2"),
                     testing::Values(AttentionForm::Flash, AttentionForm::Cublas));

class CudaModelTest : public testing::TestWithParam<ModelAndForm> {
 protected:
  void SetUp() override { VRAMFIT_NEEDS_GPU(); }

  /// The smallest model that cuDNN runs, which wants head sizes in multiples of 8.
  static ModelConfig config() {
    ModelConfig config = tiny_model(std::get<0>(GetParam()));
    config.hidden = 32;
    config.head_dim = 8;
    config.ffn = 40;
    return config;
  }
  static AttentionForm form() { return std::get<1>(GetParam()); }
};

TEST_P(CudaModelTest, AgreesWithPyTorch) {
  GpuRun run;
  FixtureChecks checks(gpu(), run.ledger, std::get<0>(GetParam()), form(), 2e-5);
  checks.loss_and_every_gradient();
  checks.logits();
  checks.greedy_generation();
  checks.logits_of_generation();
}

TEST_P(CudaModelTest, LearnsAsOnTheCpu) {
  struct Recipe {
    DType precision;
    const char* optimizer;
    double tolerance;  ///< of the first loss
  };
  for (const Recipe& recipe :
       {Recipe{DType::Fp32, "adamw", 1e-3}, Recipe{DType::Fp32, "sgd-momentum", 1e-3},
        Recipe{DType::Fp32, "adafactor", 5e-3}, Recipe{DType::Bf16, "adamw-master", 5e-2},
        Recipe{DType::Fp16, "adamw-master", 2e-2}}) {
    TrainingOptions options;
    options.precision = recipe.precision;
    options.optimizer = optimizer_named(recipe.optimizer);
    options.attention = form();
    options.batch = 2;
    options.seq = 11;
    options.settings.learning_rate = options.optimizer.moments == 2 ? 5e-3F : 0.03F;
    Host host;
    GpuRun run;
    const std::vector<double> on_cpu = losses_by_heart(host.device, host.ledger, config(), options);
    const std::vector<double> on_gpu = losses_by_heart(gpu(), run.ledger, config(), options);
    double worst = 0;
    for (std::size_t i = 0; i < on_cpu.size(); ++i) {
      worst = std::max(worst, std::abs(on_gpu[i] - on_cpu[i]) / on_cpu[0]);
    }
    std::printf("%s %s: loss %.4f to %.4f on the cpu, %.4f on the gpu, apart by %.1e at most\n",
                recipe.optimizer, name(recipe.precision), on_cpu.front(), on_cpu.back(),
                on_gpu.back(), worst);
    EXPECT_LT(worst, recipe.tolerance) << recipe.optimizer << " in " << name(recipe.precision);
    EXPECT_LT(on_gpu.back(), 0.8 * on_gpu.front());
  }
}

// What kernels sum in an order of their own is attention's gradient alone, and that not of few
// tokens. Of one and of four, other kernels run than of more: what is computed again takes the
// same ones.
TEST_P(CudaModelTest, HasTheSameGradientsWithCheckpointing) {
  for (const auto& [batch, seq] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 24}, {2, 8}, {1, 4}, {1, 1}}) {
    const auto gradients = [&, batch = batch, seq = seq](Checkpoint kind) {
      TrainingOptions options;
      options.attention = form();
      options.checkpointing.kind = kind;
      options.batch = batch;
      options.seq = seq;
      GpuRun run;
      Trainer trainer(gpu(), run.ledger, config(), options);
      trainer.forward_and_backward(random_batches(config().vocab, 1));
      std::vector<std::vector<std::byte>> all;
      for (const Parameter& p : trainer.model().weights.all()) {
        all.emplace_back(p.gradient.bytes());
        gpu().download(all.back().data(), p.gradient, p.gradient.bytes());
      }
      return all;
    };
    const auto without = gradients(Checkpoint::None);
    EXPECT_EQ(gradients(Checkpoint::Selective), without) << batch << " x " << seq;
    EXPECT_EQ(gradients(Checkpoint::Full), without) << batch << " x " << seq;
  }
}

/// One allocation per tensor: under compute-sanitizer every access past a tensor's end shows, and
/// every read of what nothing wrote.
TEST_P(CudaModelTest, RunsWithoutAPoolAndFreesEverything) {
  TrainingOptions training;
  training.optimizer = optimizer_named("adamw");
  training.batch = 2;
  training.seq = 9;
  training.accumulate = 2;
  training.attention = form();
  GenerationOptions generation;
  generation.batch = 2;
  generation.seq = 9;
  generation.generate = 3;
  generation.attention = form();
  for (const DType precision : {DType::Fp32, DType::Fp16, DType::Bf16}) {
    training.precision = precision;
    generation.precision = precision;
    CudaPassThrough memory;
    Ledger ledger(memory);
    EXPECT_FALSE(run_training(gpu(), ledger, config(), training).missing.has_value());
    EXPECT_FALSE(run_generation(gpu(), ledger, config(), generation).missing.has_value());
    EXPECT_EQ(memory.live(), 0U);
  }
}

/// A small model's logits after a prompt and after another token.
std::vector<double> logits(Device& device, Ledger& ledger, const GenerationOptions& options) {
  const ModelConfig config = small_llama();
  Generator generator(device, ledger, config, options);
  std::vector<double> values;
  const LogitsReader read = [&](Device& on, const Tensor& tensor) {
    const std::vector<double> more = downloaded_values(on, tensor);
    values.insert(values.end(), more.begin(), more.end());
  };
  const PromptLoader load = [&](Device& on, Tensor& tokens) {
    on.run(FillTokens{tokens, config.vocab, 3});
  };
  generator.prefill(load, read);
  generator.decode(read);
  return values;
}

/// ‖gpu − cpu‖₂ / ‖cpu‖₂ of the logits.
double logits_apart(const GenerationOptions& options) {
  Host host(HostSource::kDefaultCapacity, gpu().arch());
  GpuRun run;
  const std::vector<double> expected = logits(host.device, host.ledger, options);
  const std::vector<double> actual = logits(gpu(), run.ledger, options);
  double apart = 0;
  double size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    apart += (actual[i] - expected[i]) * (actual[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(apart / size);
}

class QuantizedModelTest : public testing::TestWithParam<ModelPrecision> {
 protected:
  void SetUp() override { VRAMFIT_NEEDS_GPU(); }
};

GenerationOptions options_of(const ModelPrecision& precision) {
  GenerationOptions options;
  options.precision = precision;
  options.quantize_head = precision.quantized();
  return options;
}

/// From prompts of one token on, nothing but linears rounds differently: attention to more of them
/// rounds probabilities on the GPU, and a code of 8 bits that falls to the other side is a whole
/// one off.
TEST_P(QuantizedModelTest, HasTheLogitsItHasOnTheCpu) {
  const bool quantizes = GetParam().quantized() && GetParam().inputs == GetParam().linears;
  for (const std::int64_t batch : {8, 24}) {
    if (batch > kFusedRows && quantizes) continue;  // norms apart round apart
    GenerationOptions options = options_of(GetParam());
    options.batch = batch;
    options.seq = 1;
    options.generate = 3;
    const double error = logits_apart(options);
    std::printf("%s, %d sequences: logits apart by %.1e\n", GetParam().name,
                static_cast<int>(batch), error);
    EXPECT_LE(error, 1e-2);
  }
}

/// No further than quantising takes them from those in fp32.
TEST_P(QuantizedModelTest, StaysNearTheCpuOverAPrompt) {
  for (const AttentionForm form : {AttentionForm::Flash, AttentionForm::Cublas}) {
    GenerationOptions options = options_of(GetParam());
    options.attention = form;
    options.batch = 2;
    options.seq = 40;
    options.generate = 2;
    const double error = logits_apart(options);
    std::printf("%s, %s: logits apart by %.1e\n", GetParam().name, name(form), error);
    EXPECT_LE(error,
              GetParam().inputs == GetParam().linears && GetParam().quantized() ? 6e-2 : 1e-2);
  }
}

/// Steps that a graph runs yield what steps do that run op by op.
TEST_P(QuantizedModelTest, GeneratesTheSameWhenItIsRecorded) {
  GenerationOptions options = options_of(GetParam());
  options.seq = 20;
  options.generate = 12;
  const auto tokens = [&options](std::int64_t batch, const LogitsReader& read) {
    options.batch = batch;
    GpuRun run;
    const ModelConfig config = small_llama();
    Generator generator(gpu(), run.ledger, config, options);
    generator.prefill([&](Device& on, Tensor& prompt) {
      on.run(FillTokens{prompt, config.vocab, 3});
    });
    std::vector<double> all;
    for (std::int64_t step = 1; step < options.generate; ++step) {
      generator.decode(read);
      const std::vector<double> next = downloaded_values(gpu(), generator.next_tokens());
      all.insert(all.end(), next.begin(), next.end());
    }
    return all;
  };
  for (const std::int64_t batch : {3, 24}) {
    EXPECT_EQ(tokens(batch, nullptr), tokens(batch, [](Device&, const Tensor&) {})) << batch;
  }
}

class CachedModelTest : public testing::Test {
 protected:
  void SetUp() override { VRAMFIT_NEEDS_GPU(); }
};

TEST_F(CachedModelTest, HasTheLogitsItHasOnTheCpu) {
  for (const char* cache : {"unquantized", "fp8", "int8"}) {
    for (const std::int64_t block : {0, 16}) {
      GenerationOptions options;
      options.cache = parse_cache(cache);
      options.block = block;
      options.spread = true;
      options.batch = 3;
      options.seq = 40;
      options.generate = 2;
      const double error = logits_apart(options);
      std::printf("cache %s, blocks of %d: logits apart by %.1e\n", cache, static_cast<int>(block),
                  error);
      EXPECT_LE(error, 1e-2);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, QuantizedModelTest,
                         testing::ValuesIn(model_precisions().begin(),
                                           model_precisions().end() - 1),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

INSTANTIATE_TEST_SUITE_P(Models, CudaModelTest, kModelsAndForms, label);

}  // namespace
}  // namespace vramfit
