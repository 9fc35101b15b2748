#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "estimator/timeline/recording.h"
#include "model/memory/kept_ledger.h"

namespace vramfit {

/// A run as what was asked of its allocator, be it recorded or predicted.
struct Acts {
  struct Act {
    bool allocates;     ///< else it frees
    std::size_t owner;  ///< of `owners`
    std::size_t event;  ///< of the ledger, where it is a prediction
  };
  struct Owner {
    std::uint64_t bytes;  ///< asked for, as the caching allocator rounds it
    std::string what;     ///< tensor and category; of a recording who asked for it, or ""
  };

  std::vector<Owner> owners;
  std::vector<Act> acts;            ///< those that free between two that allocate: by size
  std::vector<std::size_t> before;  ///< owners that are there before the first act

  std::uint64_t bytes_of(std::size_t act) const { return owners[acts[act].owner].bytes; }
  /// Acts as numbers from `first` on: bytes, negative where they are freed.
  std::vector<std::int64_t> tokens(std::size_t first) const;
  /// Owners that live before the act, in the order of birth.
  std::vector<std::size_t> live_before(std::size_t act) const;
  /// Their bytes before each act, and after the last.
  std::vector<std::uint64_t> levels() const;
};

Acts acts_of(const Recording& recording);
Acts acts_of(const KeptLedger& ledger);

}  // namespace vramfit
