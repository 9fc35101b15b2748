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

/// What libraries take of the card that is asked about. Bytes.
struct Card {
  pytorch::LibrarySizes libraries;
  std::uint64_t workspace = 0;           ///< of cuBLAS's handles
  std::uint64_t recorded_workspace = 0;  ///< the same of the card that the tape was recorded on
};

/// Plays a tape on PyTorch's caching allocator, within `capacity` and the extent's beyond it.
RunReport play(const RunTape& tape, const Sizes& sizes, const Card& card, std::uint64_t capacity,
               const Extent& extent);

}  // namespace vramfit::recorded
