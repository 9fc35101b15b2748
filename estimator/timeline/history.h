#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/memory/kept_ledger.h"

namespace vramfit {

/// One allocation of a ledger, from birth to death.
struct Allocation {
  static constexpr std::size_t kLives = ~std::size_t{0};

  std::size_t born;             ///< the event
  std::size_t died;             ///< the event; kLives: it is there at the end
  std::string name;             ///< the last that the ledger has for it
  Category category;            ///< as at the peak; of what is not there then, the last
  std::uint64_t block_bytes;    ///< what the allocator gave
  std::uint64_t counted_bytes;  ///< what the ledger counts
};

/// A ledger told by allocations and segments, up to the moment its run ended: with its last stage,
/// or where memory ran out. What the program frees as it takes itself down is no part of it.
struct History {
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::size_t events = 0;               ///< of the ledger's, the first so many
  std::vector<Allocation> allocations;  ///< by birth
  std::vector<std::size_t> whose;       ///< by event, the allocation; kNone: it is of none
  std::vector<SegmentChange> segments;  ///< by event
  bool one_range = false;  ///< segments continue one another, as an expandable segment's parts do
  std::uint64_t peak = 0;  ///< allocated at most. Bytes
  std::size_t peak_event = kNone;  ///< the first that reached it
};

History history_of(const KeptLedger& ledger);

/// A block within a segment; blocks tile it.
struct PlacedBlock {
  std::uint64_t offset;
  std::uint64_t bytes;
  std::size_t allocation;  ///< History::kNone: it is free
};

struct PlacedSegment {
  std::uint64_t offset;
  std::uint64_t bytes;
  std::vector<PlacedBlock> blocks;
};

/// What the allocator holds when the run has ended, by address.
std::vector<PlacedSegment> segments_at_end(const KeptLedger& ledger, const History& history);

}  // namespace vramfit
