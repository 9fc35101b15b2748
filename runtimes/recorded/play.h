#pragma once

#include <cstdint>
#include <vector>

#include "model/memory/run_report.h"
#include "runtimes/pytorch/torch/memory/libraries.h"
#include "runtimes/recorded/run_tape.h"
#include "runtimes/runtime.h"

namespace vramfit::recorded {

/// What a tape is at one point.
struct Sizes {
  std::vector<std::uint64_t> bytes;  ///< of each of its sizes
  std::vector<bool> met;             ///< of its conditions, from 1; the first is always
};

/// Plays a tape on PyTorch's caching allocator, within `capacity` and the extent's beyond it.
/// `libraries`: what they take of the card that is asked about.
RunReport play(const RunTape& tape, const Sizes& sizes, const pytorch::LibrarySizes& libraries,
               std::uint64_t capacity, const Extent& extent);

}  // namespace vramfit::recorded
