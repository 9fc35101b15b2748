#pragma once

#include <cstdint>
#include <vector>

#include "model/memory/allocator.h"
#include "model/memory/memory_source.h"

namespace vramfit {

/// Places blocks in one growing range, the lowest among equal fits, and coalesces neighbours as
/// they come back. Placement depends on the sequence of requests alone, never on addresses, so that
/// a dry run places every block where the real run does. A block's handle is its number: how many
/// were handed out before.
class Pool final : public Allocator {
 public:
  /// Block alignment: what cuBLASLt and cuDNN want at most, and a whole number of cache lines.
  static constexpr std::uint64_t kAlignment = 256;
  /// Growth: the driver's mapping granularity.
  static constexpr std::uint64_t kGranularity = std::uint64_t{2} << 20;

  struct Range {
    std::uint64_t offset;
    std::uint64_t bytes;
    std::uint64_t end() const { return offset + bytes; }
  };

  /// `source` must outlive the pool.
  explicit Pool(MemorySource& source) : source_(source) {}

  Block allocate(std::uint64_t bytes, Placement placement = Placement::BestFit) override;
  void free(const Block& block) noexcept override;
  std::uint64_t capacity() const override { return source_.capacity(); }
  std::uint64_t reserved() const override { return reserved_; }

  /// Free ranges within what is reserved: by offset, no two touching.
  const std::vector<Range>& free_ranges() const { return free_; }

 private:
  using Iterator = std::vector<Range>::iterator;
  Iterator best_fit(std::uint64_t bytes);
  Iterator highest_fit(std::uint64_t bytes);
  Iterator grow_to_fit(std::uint64_t bytes);
  Iterator insert_coalesced(Range range);

  MemorySource& source_;
  std::vector<Range> free_;
  std::uint64_t reserved_ = 0;
  std::size_t live_ = 0;          ///< blocks handed out and not yet back
  std::uint32_t handed_out_ = 0;  ///< in all: the next block's handle
};

}  // namespace vramfit
