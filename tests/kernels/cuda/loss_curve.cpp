#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/families/chain_text.h"
#include "estimator/models.h"
#include "model/transformer/training.h"
#include "tests/kernels/cuda/support/gpu_run.h"

// Losses of one course in several precisions, step by step, of the same weights and text: what
// docs/performance.md says of training in fewer bits.
//   loss_curve gpt2-124m adamw-master 8 1024 300 6e-4 0 bf16 fp8

namespace vramfit {
namespace {

/// Text of a Markov chain, of few of a model's tokens, so that what is to be learnt is seen often.
constexpr int kVocab = 64;

/// `first`: number of the first sequence that is read.
std::vector<double> losses(const ModelConfig& config, const TrainingOptions& options, int steps,
                           const bench::ChainText& text, std::uint64_t first) {
  GpuRun run;
  Trainer trainer(gpu(), run.ledger, config, options);
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    trainer.step([&](Device& on, Tensor& tokens, Tensor& targets) {
      std::vector<std::int32_t> now;
      std::vector<std::int32_t> next;
      for (std::int64_t b = 0; b < options.batch; ++b) {
        const auto sequence = text.sequence(
            first + static_cast<std::uint64_t>(step * options.batch + b), options.seq + 1);
        now.insert(now.end(), sequence.begin(), sequence.end() - 1);
        next.insert(next.end(), sequence.begin() + 1, sequence.end());
      }
      on.upload(tokens, now.data(), tokens.bytes());
      on.upload(targets, next.data(), targets.bytes());
    });
    losses.push_back(trainer.loss());
  }
  return losses;
}

}  // namespace
}  // namespace vramfit

int main(int count, char** words) {
  using namespace vramfit;
  if (count < 9) {
    std::fprintf(stderr,
                 "loss_curve MODEL OPTIMIZER BATCH SEQ STEPS LEARNING_RATE TEXT PRECISION…\n");
    return 2;
  }
  const ModelConfig config = model_named(words[1]);
  TrainingOptions options;
  options.optimizer = optimizer_named(words[2]);
  options.batch = std::atoi(words[3]);
  options.seq = std::atoi(words[4]);
  const int steps = std::atoi(words[5]);
  options.settings.learning_rate = std::strtof(words[6], nullptr);
  const auto first = static_cast<std::uint64_t>(std::atoll(words[7]));
  const bench::ChainText text(std::min<int>(kVocab, static_cast<int>(config.vocab)));
  std::vector<std::vector<double>> curves;
  std::printf("step");
  for (int i = 8; i < count; ++i) {
    options.precision = parse_model_precision(words[i]);
    curves.push_back(losses(config, options, steps, text, first));
    std::printf(",%s", words[i]);
  }
  std::printf("\n");
  for (int step = 0; step < steps; ++step) {
    std::printf("%d", step + 1);
    for (const auto& curve : curves) std::printf(",%.5f", curve[static_cast<std::size_t>(step)]);
    std::printf("\n");
  }
  return 0;
}
