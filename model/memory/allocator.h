#pragma once

#include <cstddef>
#include <cstdint>

#include "model/memory/driver_code.h"

namespace vramfit {

/// More than any machine has, and far enough from 2^64 that sums of sizes cannot wrap.
inline constexpr std::uint64_t kUnlimitedBytes = std::uint64_t{1} << 60;

/// A piece of memory handed out. `data` is null where nothing stands behind the addresses.
struct Block {
  std::uint64_t offset = 0;  ///< bytes from the start of the allocator's range
  std::uint64_t bytes = 0;   ///< as taken, rounded up to the allocator's alignment
  std::byte* data = nullptr;
  std::uint32_t handle = 0;  ///< the allocator's own
};

/// Which free range a block is taken from.
enum class Placement : std::uint8_t {
  BestFit,  ///< the smallest that fits, at its low end
  Highest,  ///< the highest that fits, at its high end
};

/// Whose memory it is. A ledger, and what it stands on, are of one.
enum class MemorySpace : std::uint8_t {
  Device,  ///< the card's
  Host,    ///< the machine's, of a run that keeps some of its tensors there
};

/// What the ledger stands on: the pool, or one that passes every request through.
class Allocator {
 public:
  virtual ~Allocator() = default;

  /// At least `bytes` bytes; throws OutOfMemory and stays as it was where they do not exist.
  virtual Block allocate(std::uint64_t bytes, Placement placement = Placement::BestFit) = 0;
  virtual void free(const Block& block) noexcept = 0;

  /// Bytes that there can be at most.
  virtual std::uint64_t capacity() const { return kUnlimitedBytes; }
  /// Bytes taken from the source so far. Shrinks only where a cache is given back.
  virtual std::uint64_t reserved() const = 0;
  /// Gives back to the source what nobody uses, where such is kept.
  virtual void empty_cache() {}
  /// The driver loads code of its own beside what is allocated.
  virtual void load(DriverCode) {}
};

}  // namespace vramfit
