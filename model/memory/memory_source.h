#pragma once

#include <cstddef>
#include <cstdint>

namespace vramfit {

/// More than any machine has, and far enough from 2^64 that sums of sizes cannot wrap.
inline constexpr std::uint64_t kUnlimitedBytes = std::uint64_t{1} << 60;

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
