#include <algorithm>
#include <cmath>

#include "kernels/cuda/memory/pass_through.h"
#include "model/transformer/run.h"
#include "tests/kernels/cuda/support/gpu_run.h"
#include "tests/kernels/support/host_run.h"
#include "tests/kernels/support/losses_by_heart.h"
#include "tests/kernels/support/tiny_models.h"
#include "tests/kernels/support/workbench.h"

// Whole models whose linears multiply codes of 8 bits, on the GPU.

namespace vramfit {
namespace {

class CodesModelTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { VRAMFIT_NEEDS_GPU(); }

  /// Of sizes that codes and cuDNN go with.
  static ModelConfig config() {
    ModelConfig config = tiny_model(GetParam());
    config.hidden = 64;
    config.head_dim = 16;
    config.ffn = 112;
    return config;
  }

  static TrainingOptions options(const char* precision) {
    TrainingOptions options;
    options.precision = parse_model_precision(precision);
    options.optimizer = optimizer_named("adamw-master");
    options.settings.learning_rate = 5e-3F;
    options.batch = 2;
    options.seq = 24;
    return options;
  }
};

/// The largest distance of two curves, of the first loss.
double apart(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]) / a[0]);
  return worst;
}

TEST_P(CodesModelTest, LearnsAsOnTheCpuAndAsIn16Bits) {
  Host host(HostSource::kDefaultCapacity, gpu().arch());
  GpuRun run;
  const auto on_cpu = losses_by_heart(host.device, host.ledger, config(), options("fp8"));
  const auto on_gpu = losses_by_heart(gpu(), run.ledger, config(), options("fp8"));
  const auto plain = losses_by_heart(gpu(), run.ledger, config(), options("bf16"));
  std::printf(
      "%s: loss %.4f to %.4f on the cpu, %.4f on the gpu, apart by %.1e at most; in bf16 "
      "%.4f, apart by %.1e\n",
      GetParam().c_str(), on_cpu.front(), on_cpu.back(), on_gpu.back(), apart(on_cpu, on_gpu),
      plain.back(), apart(plain, on_gpu));
  EXPECT_LT(apart(on_cpu, on_gpu), 5e-2);
  EXPECT_LT(apart(plain, on_gpu), 5e-2);
  EXPECT_LT(on_gpu.back(), 0.5 * on_gpu.front());
}

TEST_P(CodesModelTest, HasTheSameGradientsWithCheckpointing) {
  const auto gradients = [&](Checkpoint kind) {
    TrainingOptions asked = options("fp8");
    asked.checkpointing.kind = kind;
    asked.accumulate = 2;
    GpuRun run;
    Trainer trainer(gpu(), run.ledger, config(), asked);
    trainer.forward_and_backward(random_batches(config().vocab, 1));
    std::vector<std::vector<std::byte>> all;
    for (const Parameter& p : trainer.model().weights.all()) {
      all.emplace_back(p.gradient.bytes());
      gpu().download(all.back().data(), p.gradient, p.gradient.bytes());
    }
    return all;
  };
  const auto without = gradients(Checkpoint::None);
  EXPECT_EQ(gradients(Checkpoint::Selective), without);
  EXPECT_EQ(gradients(Checkpoint::Full), without);
}

/// One allocation per tensor, for compute-sanitizer.
TEST_P(CodesModelTest, RunsWithoutAPoolAndFreesEverything) {
  TrainingOptions asked = options("fp8");
  asked.accumulate = 2;
  CudaPassThrough memory;
  Ledger ledger(memory);
  EXPECT_FALSE(run_training(gpu(), ledger, config(), asked).missing.has_value());
  EXPECT_EQ(memory.live(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Models, CodesModelTest, testing::Values("llama", "qwen2", "qwen3", "gpt2"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace vramfit
