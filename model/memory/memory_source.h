#pragma once

#include <cstddef>
#include <cstdint>

#include "model/memory/allocator.h"

namespace vramfit {

/// Where a pool's bytes come from: one range of addresses, backed from its start as it grows.
/// A source decides nothing but whether bytes exist, so every device places blocks alike.
class MemorySource {
 public:
  virtual ~MemorySource() = default;

  /// Bytes that may be backed at most: the card's, or what it is told to behave as.
  virtual std::uint64_t capacity() const = 0;

  /// Start of the range; null where nothing stands behind it.
  virtual std::byte* base() const = 0;

  /// Backs [from, to) as well; throws OutOfMemory where the bytes cannot be had.
  virtual void grow(std::uint64_t from, std::uint64_t to) = 0;

  /// Told as a range is handed out or comes back, for sources that catch its use after that.
  virtual void on_allocate(std::uint64_t /*offset*/, std::uint64_t /*bytes*/) {}
  virtual void on_free(std::uint64_t /*offset*/, std::uint64_t /*bytes*/) {}
};

}  // namespace vramfit
