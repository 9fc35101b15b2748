#include "model/transformer/run.h"

#include <algorithm>

namespace vramfit {
namespace {

constexpr std::uint64_t kSeed = 1;

/// Ranks train on batches of their own, but for a pipeline's: no run draws as many as lie between
/// two ranks' first.
std::uint64_t seed_of(const Mesh& mesh) {
  if (mesh.pipelined()) return kSeed;
  return kSeed + (static_cast<std::uint64_t>(mesh.rank) << 40);
}

}  // namespace

RunReport run_training(Device& device, Ledger& ledger, const ModelConfig& config,
                       const TrainingOptions& options, const Steps& steps) {
  return report_on(ledger, [&] {
    Trainer trainer(device, ledger, config, options);
    const BatchLoader batches = random_batches(config.vocab, seed_of(options.mesh));
    steps([&] { trainer.step(batches); });
    device.synchronize();
  });
}

RunReport run_training(Device& device, Ledger& ledger, const ModelConfig& config,
                       const TrainingOptions& options, int steps) {
  return run_training(device, ledger, config, options, [&](const auto& step) {
    for (int i = 0; i < steps; ++i) step();
  });
}

RunReport run_generation(Device& device, Ledger& ledger, const ModelConfig& config,
                         const GenerationOptions& options, std::int64_t max_decodes) {
  return report_on(ledger, [&] {
    Generator generator(device, ledger, config, options);
    generator.prefill([&config](Device& on, Tensor& tokens) {
      on.run(FillTokens{tokens, config.vocab, kSeed});
    });
    const std::int64_t decodes = std::min(options.generate - 1, max_decodes);
    for (std::int64_t token = 0; token < decodes; ++token) generator.decode();
    device.synchronize();
  });
}

}  // namespace vramfit
