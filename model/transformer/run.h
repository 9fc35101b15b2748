#pragma once

#include <optional>
#include <vector>

#include "model/transformer/generation.h"
#include "model/transformer/sizes.h"
#include "model/transformer/training.h"

namespace vramfit {

/// An allocation that could not be had.
struct MissingMemory {
  Name name;
  Category category;
  Stage stage;
  int step;
  std::uint64_t requested;  ///< bytes
};

/// What a run took, on whichever device.
struct RunReport {
  Snapshot peak;                         ///< the high-water mark and what it was made of
  std::uint64_t reserved = 0;            ///< bytes taken from the source, at most
  std::vector<StageRecord> stages;       ///< in order; the last one cut short where memory ran out
  std::vector<Event> events;             ///< the whole ledger
  std::optional<MissingMemory> missing;  ///< absent: the run completed

  /// The high-water mark over the stages of one step; 0 is loading.
  std::uint64_t peak_of_step(int step) const;
};

/// Two steps are the fewest that reach a training run's peak.
inline constexpr int kDefaultSteps = 2;

/// Loads the model and trains it for `steps` steps on random tokens. Running out of memory is a
/// result. `ledger` is empty at first, and at the end but for its history.
RunReport run_training(Device& device, Ledger& ledger, const ModelConfig& config,
                       const TrainingOptions& options, int steps = kDefaultSteps);

/// Loads the model, fills the cache with random prompts, generates. Likewise. Ends early after
/// `max_decodes` decode steps, with a cache that has room for all of them.
RunReport run_generation(Device& device, Ledger& ledger, const ModelConfig& config,
                         const GenerationOptions& options, std::int64_t max_decodes = kMaxSeq);

}  // namespace vramfit
