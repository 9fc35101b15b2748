#pragma once

#include <cstddef>
#include <cstdint>

namespace vramfit {

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

/// What the ledger stands on: the pool, or one that passes every request through.
class Allocator {
 public:
  virtual ~Allocator() = default;

  /// At least `bytes` bytes; throws OutOfMemory and stays as it was where they do not exist.
  virtual Block allocate(std::uint64_t bytes, Placement placement = Placement::BestFit) = 0;
  virtual void free(const Block& block) noexcept = 0;

  /// Bytes taken from the source so far. Shrinks only where a cache is given back.
  virtual std::uint64_t reserved() const = 0;
  /// Gives back to the source what nobody uses, where such is kept.
  virtual void empty_cache() {}
};

}  // namespace vramfit
