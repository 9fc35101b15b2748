#include "runtimes/vramfit/options.h"

#include <algorithm>

#include "model/errors.h"
#include "model/transformer/sizes.h"

namespace vramfit {
namespace {

/// A prompt that has room by itself, but not with the new tokens.
void require_room(const ModelConfig& config, const GenerationOptions& options) {
  require_sizes(options.batch, options.seq);
  require_size("generate", options.generate, kMaxSeq);
  const std::int64_t positions = seq_limit(config, TrainingOptions{});
  if (options.seq <= positions && options.positions() > positions) {
    throw BadInput("generate: a prompt of " + std::to_string(options.seq) + " and " +
                   std::to_string(options.generate) + " new tokens need " +
                   std::to_string(options.positions()) + " positions; " + config.name + " takes " +
                   std::to_string(positions));
  }
}

}  // namespace

DType precision_of(const StepOptions& options) {
  const auto* generation = std::get_if<GenerationOptions>(&options);
  return generation != nullptr ? generation->precision.activations
                               : std::get<TrainingOptions>(options).precision.activations;
}

AttentionForm attention_of(const StepOptions& options) {
  return std::visit([](const auto& o) { return o.attention; }, options);
}

void validate(const ModelConfig& config, const StepOptions& options) {
  if (precision_of(options) == DType::Fp64) {
    throw BadInput("precision: fp64 is for tests on the CPU; fp32, fp16 or bf16");
  }
  if (const auto* generation = std::get_if<GenerationOptions>(&options)) {
    require_room(config, *generation);
  }
  std::visit([&config](const auto& o) { validate(config, o); }, options);
}

std::int64_t seq_limit(const ModelConfig& config, const StepOptions& options) {
  std::int64_t positions = kMaxSeq;
  if (config.learned_positions()) positions = std::min(positions, config.max_positions);
  if (config.sliding_window) positions = std::min(positions, *config.sliding_window);
  const auto* generation = std::get_if<GenerationOptions>(&options);
  if (generation == nullptr) return positions;
  // What is out of range is validate's business.
  return positions - (std::clamp<std::int64_t>(generation->generate, 1, kMaxSeq) - 1);
}

}  // namespace vramfit
