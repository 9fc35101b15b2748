#pragma once

#include <cstdint>
#include <vector>

#include "model/memory/ledger.h"
#include "runtimes/pytorch/torch/memory/caching_allocator.h"
#include "runtimes/pytorch/torch/memory/fold.h"
#include "runtimes/pytorch/torch/memory/tape.h"

namespace vramfit::pytorch {

/// Thrown where layers that should be alike are not: then all of them have to be walked.
struct LayersDiffer {};

/// Plays tapes on a ledger: as many layers as the model has, and what repeats, as often as it does.
class Playback {
 public:
  /// All but the fold must outlive it. `allocator`: what the ledger stands on, where that keeps
  /// streams apart.
  Playback(Ledger& ledger, const Fold& fold, CachingAllocator* allocator = nullptr)
      : ledger_(ledger), fold_(fold), allocator_(allocator) {}

  /// A recording, with numbers for its blocks.
  class Part {
   public:
    Part() = default;

   private:
    friend Playback;
    struct Span {
      std::uint32_t first;  ///< of its acts
      std::uint32_t last;   ///< behind them
      std::int64_t layer;
      std::uint32_t block;  ///< the number of its first slot
      std::uint32_t times;  ///< the first of its own
    };
    std::vector<Act> acts_;
    std::vector<Times> times_;
    std::vector<Span> spans_;
  };
  /// Parts are made ready in the order in which they were recorded. Throws LayersDiffer.
  Part ready(Recording recording);
  /// Throws OutOfMemory, with the stage ended. A part may be played again once all that it
  /// allocated is freed.
  void play(const Part& part, int step);

  /// What else was taken beside the allocator as a stage ended, bytes.
  struct Beside {
    std::uint64_t libraries = 0;
    std::uint64_t managed = 0;  ///< the driver may move it to the host
  };
  /// Of each stage.
  const std::vector<Beside>& beside() const { return beside_at_ends_; }

 private:
  void play(const Part& part, const Part::Span& span, int step);
  /// No bytes where the layer takes it no times.
  Block allocate(const Part& part, const Act& act, const Part::Span& span);

  Ledger& ledger_;
  Fold fold_;
  CachingAllocator* allocator_;
  std::vector<std::uint32_t> numbers_;  ///< of the first slot of each visit, by its place
  std::uint32_t next_number_ = 0;
  std::vector<Block> blocks_;  ///< by number; of no bytes where a layer took it no times
  bool in_stage_ = false;
  Beside beside_;
  std::vector<Beside> beside_at_ends_;
};

}  // namespace vramfit::pytorch
