#pragma once

#include <cstdint>
#include <vector>

#include "model/memory/memory_source.h"

namespace vramfit {

/// The host's memory, page-locked as it grows so that the GPU's copy engines read and write it
/// while both go on. One range of addresses, reserved whole. Page-locking takes a third of a second
/// a GB: what is there stays until the end.
class PinnedSource final : public MemorySource {
 public:
  /// At most `capacity` bytes: what the machine can spare, so that it is refused before anything is
  /// taken rather than by whatever ends processes where memory does.
  explicit PinnedSource(std::uint64_t capacity);
  /// Waits for the device: work in flight may use the memory.
  ~PinnedSource() override;
  PinnedSource(const PinnedSource&) = delete;
  PinnedSource& operator=(const PinnedSource&) = delete;

  std::uint64_t capacity() const override { return capacity_; }
  std::byte* base() const override { return base_; }
  /// Throws OutOfMemory, and stays as it was, where the machine has no more. A copy must not cross
  /// from what grew at one time to what grew at another.
  void grow(std::uint64_t from, std::uint64_t to) override;

 private:
  std::uint64_t capacity_;
  std::byte* base_ = nullptr;
  std::vector<std::uint64_t> ends_;  ///< of what grew, in bytes from the start
};

}  // namespace vramfit
