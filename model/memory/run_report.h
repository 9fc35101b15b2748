#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/errors.h"
#include "model/memory/ledger.h"

namespace vramfit {

/// A segment that the allocator took from the driver (bytes > 0) or gave back (bytes < 0).
struct SegmentChange {
  std::size_t event;  ///< of the ledger: the first after it
  std::uint64_t offset;
  std::int64_t bytes;

  friend bool operator==(const SegmentChange&, const SegmentChange&) = default;
};

/// What a run kept in the host's memory. No part of what the card's figures are.
struct HostReport {
  MemoryUse peak;
  std::uint64_t reserved = 0;  ///< bytes taken from the source, at most
  std::vector<Event> events;   ///< the host's ledger, where it keeps events
};

/// What a run took, on whichever device and under whichever runtime.
struct RunReport {
  MemoryUse peak;                        ///< the high-water mark and what it was made of
  std::uint64_t reserved = 0;            ///< bytes taken from the source, at most
  std::vector<StageRecord> stages;       ///< in order; the last one cut short where memory ran out
  std::vector<Event> events;             ///< the whole ledger, where it keeps events
  std::vector<SegmentChange> segments;   ///< in order, beside the ledger; PyTorch's allocator's
  std::optional<MissingMemory> missing;  ///< absent: the run completed
  HostReport host;                       ///< nothing where all is on the card
  /// What walking the run took, in allocations that are played: those of a tape take longer.
  std::uint64_t cost = 0;

  /// The high-water mark over the stages of one step; 0 is loading.
  std::uint64_t peak_of_step(int step) const;
};

/// Where two runs' ledgers first differ, the host's behind the card's; nothing where they are
/// equal.
std::optional<std::string> first_difference(const RunReport& a, const RunReport& b);

/// What `ledger` says of a run that is over.
RunReport report_of(const Ledger& ledger);

/// Runs `body`, which allocates from `ledger`. Running out of memory is a result.
template <typename Body>
RunReport report_on(const Ledger& ledger, const Body& body) {
  try {
    body();
  } catch (const OutOfMemory&) {
    if (!ledger.missing()) throw;  // it ran out beside the ledger, which is no result of this run
  }
  return report_of(ledger);
}

}  // namespace vramfit
