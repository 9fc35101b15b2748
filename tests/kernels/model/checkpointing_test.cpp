#include <gtest/gtest.h>

#include "tests/kernels/support/host_run.h"
#include "tests/kernels/support/tiny_models.h"

namespace vramfit {
namespace {

std::vector<std::vector<double>> gradients_with(const ModelConfig& config, TrainingOptions options,
                                                const Checkpointing& checkpointing) {
  options.checkpointing = checkpointing;
  options.accumulate = 2;
  const std::int64_t tokens = options.accumulate * options.batch * options.seq;
  Host host;
  Trainer trainer(host.device, host.ledger, config, options);
  randomize(host.device, trainer.model().weights);
  trainer.forward_and_backward(micro_batches(random_tokens(tokens, config.vocab, 1),
                                             random_tokens(tokens, config.vocab, 2)));
  return gradients_of(trainer.model().weights);
}

// What is computed again is computed by the same ops from the same values.
TEST(Checkpointing, GradientsAreTheSameToTheBit) {
  for (const ModelConfig& config : tiny_models()) {
    for (const DType precision : {DType::Fp64, DType::Fp32, DType::Bf16}) {
      for (const AttentionForm form : {AttentionForm::Flash, AttentionForm::Cublas}) {
        SCOPED_TRACE(config.name + " " + name(precision) + " " + name(form));
        TrainingOptions options;
        options.precision = precision;
        options.attention = form;
        for (const std::int64_t seq : {1, 5}) {
          options.batch = seq == 1 ? 1 : 2;
          options.seq = seq;
          const auto without = gradients_with(config, options, {});
          for (const Checkpoint kind : {Checkpoint::Selective, Checkpoint::Full}) {
            for (const std::int64_t every : {1, 2}) {
              EXPECT_EQ(gradients_with(config, options, {kind, every}), without)
                  << name(kind) << ", every " << every << ", of " << seq;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace vramfit
