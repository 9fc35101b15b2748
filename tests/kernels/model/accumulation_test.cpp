#include <gtest/gtest.h>

#include "tests/kernels/support/finite_difference.h"
#include "tests/kernels/support/host_run.h"
#include "tests/kernels/support/tiny_models.h"

namespace vramfit {
namespace {

constexpr std::int64_t kSequences = 6;
constexpr std::int64_t kLength = 5;

struct StepResult {
  double loss;
  std::vector<std::vector<double>> gradients;
};

StepResult gradients_with(const ModelConfig& config, DType precision, AttentionForm form,
                          std::int64_t accumulate, const std::optional<LoraOptions>& lora = {}) {
  TrainingOptions options;
  options.lora = lora;
  options.precision = precision;
  options.attention = form;
  options.batch = kSequences / accumulate;
  options.seq = kLength;
  options.accumulate = accumulate;
  Host host;
  Trainer trainer(host.device, host.ledger, config, options);
  randomize(host.device, trainer.model().weights);
  trainer.forward_and_backward(micro_batches(random_tokens(kSequences * kLength, config.vocab, 1),
                                             random_tokens(kSequences * kLength, config.vocab, 2)));
  return {trainer.loss(), gradients_of(trainer.model().weights)};
}

void expect_accumulation(DType precision, double bound) {
  for (const ModelConfig& config : tiny_models()) {
    SCOPED_TRACE(config.name);
    for (const AttentionForm form : {AttentionForm::Flash, AttentionForm::Cublas}) {
      const StepResult whole = gradients_with(config, precision, form, 1);
      for (const std::int64_t accumulate : {2, 3, 6}) {
        const StepResult parts = gradients_with(config, precision, form, accumulate);
        EXPECT_LT(relative_error({parts.loss}, {whole.loss}), bound);
        for (std::size_t i = 0; i < whole.gradients.size(); ++i) {
          EXPECT_LT(relative_error(parts.gradients[i], whole.gradients[i]), bound) << i;
        }
      }
    }
  }
}

TEST(Accumulation, OfAdaptersEqualsOneBatch) {
  for (const ModelConfig& config : tiny_models()) {
    SCOPED_TRACE(config.name);
    const LoraOptions lora{3, 2.0F, lora_targets(config)};
    const StepResult whole = gradients_with(config, DType::Fp64, AttentionForm::Flash, 1, lora);
    const StepResult parts = gradients_with(config, DType::Fp64, AttentionForm::Flash, 3, lora);
    for (std::size_t i = 0; i < whole.gradients.size(); ++i) {
      if (!whole.gradients[i].empty()) {
        EXPECT_LT(relative_error(parts.gradients[i], whole.gradients[i]), 1e-12) << i;
      }
    }
  }
}

// The weight of a token is a float, 1 / tokens, in both: rounding is all that differs.
TEST(Accumulation, OfMicroBatchesEqualsOneBatchInFp64) { expect_accumulation(DType::Fp64, 1e-12); }
TEST(Accumulation, OfMicroBatchesEqualsOneBatchInFp32) { expect_accumulation(DType::Fp32, 1e-5); }
TEST(Accumulation, OfMicroBatchesEqualsOneBatchInBf16) { expect_accumulation(DType::Bf16, 2e-2); }

}  // namespace
}  // namespace vramfit
