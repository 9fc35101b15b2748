#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "model/memory/pool.h"
#include "tests/model/memory/recording_source.h"

namespace vramfit {

/// A pool and beside it the plainest model of one: a map of live blocks, from which everything else
/// is computed anew. Every call checks the pool against it. Where a block goes is the pool's
/// choice; that it goes into free memory, and that memory grows only when and as it must, is not.
class CheckedPool {
 public:
  explicit CheckedPool(std::uint64_t capacity) : source_(capacity), pool_(source_) {}

  /// Nothing where the pool says that memory is out; that it is right to say so is checked.
  std::optional<Block> allocate(std::uint64_t bytes, Placement placement = Placement::BestFit);
  void free(const Block& block);

  std::uint64_t reserved() const { return pool_.reserved(); }
  std::size_t live() const { return live_.size(); }
  /// Makes the source refuse to grow, whatever its capacity, or no longer.
  void set_exhausted(bool exhausted) { source_.exhausted = exhausted; }

 private:
  using Ranges = std::vector<RecordingSource::Range>;
  Ranges gaps() const;
  void expect_consistent() const;

  RecordingSource source_;
  Pool pool_;
  std::map<std::uint64_t, std::uint64_t> live_;  ///< offset → bytes
};

}  // namespace vramfit
