#pragma once

#include <functional>

#include "model/memory/run_report.h"
#include "model/transformer/generation.h"
#include "model/transformer/sizes.h"
#include "model/transformer/training.h"

namespace vramfit {

/// Two steps are the fewest that reach a training run's peak.
inline constexpr int kDefaultSteps = 2;

/// Decides on a run's steps: calls `step` for each.
using Steps = std::function<void(const std::function<void()>& step)>;

/// Loads the model and trains it on random tokens. Running out of memory is a result. `ledger` is
/// empty at first, and at the end but for its history.
RunReport run_training(Device& device, Ledger& ledger, const ModelConfig& config,
                       const TrainingOptions& options, const Steps& steps);
RunReport run_training(Device& device, Ledger& ledger, const ModelConfig& config,
                       const TrainingOptions& options, int steps = kDefaultSteps);

/// Loads the model, fills the cache with random prompts, generates. Likewise. Ends early after
/// `max_decodes` decode steps, with a cache that has room for all of them.
RunReport run_generation(Device& device, Ledger& ledger, const ModelConfig& config,
                         const GenerationOptions& options, std::int64_t max_decodes = kMaxSeq);

}  // namespace vramfit
