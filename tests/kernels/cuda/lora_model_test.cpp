#include <gtest/gtest.h>

#include "model/transformer/training.h"
#include "tests/kernels/cuda/support/gpu.h"
#include "tests/kernels/cuda/support/gpu_run.h"
#include "tests/kernels/support/finite_difference.h"
#include "tests/kernels/support/fixture_checks.h"
#include "tests/kernels/support/host_run.h"
#include "tests/kernels/support/tiny_models.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

struct Frozen {
  const char* precision;
  double bound;  ///< of each gradient, from the CPU's
};

void PrintTo(const Frozen& frozen, std::ostream* stream) { *stream << frozen.precision; }

class LoraGpuTest : public testing::TestWithParam<Frozen> {
 protected:
  void SetUp() override { VRAMFIT_NEEDS_GPU(); }
};

/// Gradients of adapters whose second halves are not zero, the loss last.
std::vector<std::vector<double>> gradients(Device& device, Ledger& ledger,
                                           const ModelConfig& config,
                                           const TrainingOptions& options) {
  Trainer trainer(device, ledger, config, options);
  std::uint64_t seed = 100;
  for (Parameter& p : trainer.model().weights.all()) {
    if (p.trained) device.run(FillNormal{p.value, 0.0F, 0.05F, seed++});
  }
  const std::int64_t tokens = options.batch * options.seq;
  trainer.forward_and_backward(
      fixed_batch(random_tokens(tokens, config.vocab, 1), random_tokens(tokens, config.vocab, 2)));
  std::vector<std::vector<double>> all;
  for (const Parameter* p : trainer.model().weights.trained()) {
    all.push_back(downloaded_values(device, p->gradient));
  }
  all.push_back({trainer.loss()});
  return all;
}

TEST_P(LoraGpuTest, HasTheGradientsOfTheCpu) {
  const ModelConfig config = small_llama();
  for (const auto& targets : {usual_lora_targets(config), lora_targets(config)}) {
    // Few rows are multiplied in another way than many.
    for (const std::int64_t seq : {7, 40, 72}) {
      TrainingOptions options;
      options.precision = parse_model_precision(GetParam().precision);
      options.lora = LoraOptions{8, 4.0F, targets};
      options.seq = seq;
      Host host(HostSource::kDefaultCapacity, Arch{90});
      GpuRun run;
      const auto on_cpu = gradients(host.device, host.ledger, config, options);
      const auto on_gpu = gradients(gpu(), run.ledger, config, options);
      ASSERT_EQ(on_cpu.size(), on_gpu.size());
      double worst = 0;
      for (std::size_t i = 0; i < on_cpu.size(); ++i) {
        worst = std::max(worst, relative_error(on_gpu[i], on_cpu[i]));
      }
      std::printf("%s, %zu targets, %d tokens: gradients apart by %.1e at most\n",
                  GetParam().precision, targets.size(), static_cast<int>(seq), worst);
      EXPECT_LT(worst, GetParam().bound);
    }
  }
}

// Where inputs are quantised too, a code now and then falls to the other side.
INSTANTIATE_TEST_SUITE_P(Formats, LoraGpuTest,
                         testing::Values(Frozen{"fp32", 1e-4}, Frozen{"fp16", 1e-2},
                                         Frozen{"bf16", 6e-2}, Frozen{"fp8", 0.15},
                                         Frozen{"int8", 0.1}, Frozen{"int8-wo", 6e-2},
                                         Frozen{"nf4", 6e-2}, Frozen{"int4", 6e-2}),
                         [](const auto& test) {
                           std::string text = test.param.precision;
                           return text == "int8-wo" ? "int8_wo" : text;
                         });

class LoraFixtureOnGpuTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { VRAMFIT_NEEDS_GPU(); }
};

TEST_P(LoraFixtureOnGpuTest, AgreesWithPeft) {
  for (const AttentionForm form : {AttentionForm::Flash, AttentionForm::Cublas}) {
    GpuRun run;
    FixtureChecks(gpu(), run.ledger, GetParam(), form, 2e-5).adapters();
  }
}

INSTANTIATE_TEST_SUITE_P(Models, LoraFixtureOnGpuTest, testing::Values("llama", "gpt2"));

}  // namespace
}  // namespace vramfit
