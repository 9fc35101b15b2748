#include "tests/kernels/support/losses_by_heart.h"

#include "tests/kernels/support/host_run.h"

namespace vramfit {

std::vector<double> losses_by_heart(Device& device, Ledger& ledger, const ModelConfig& config,
                                    const TrainingOptions& options) {
  constexpr int kSteps = 50;
  const std::int64_t tokens = options.batch * options.seq;
  const BatchLoader batch =
      fixed_batch(random_tokens(tokens, config.vocab, 1), random_tokens(tokens, config.vocab, 2));
  Trainer trainer(device, ledger, config, options);
  std::vector<double> losses;
  for (int step = 0; step < kSteps; ++step) {
    trainer.step(batch);
    losses.push_back(trainer.loss());
  }
  return losses;
}

}  // namespace vramfit
