#pragma once

#include <cstdint>

#include "model/memory/memory_source.h"

namespace vramfit {

/// The host's memory. What it grows by first is page-locked, so that the GPU's copy engines read
/// and write it while both go on: the slots that updates pass through. The rest the host alone
/// reads and writes: to lock it as well would take 2 MiB of the card a GB, for the driver's page
/// tables, and a third of a second. One range of addresses, reserved whole.
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
  /// Throws OutOfMemory, and stays as it was, where the machine has no more to lock.
  void grow(std::uint64_t from, std::uint64_t to) override;

 private:
  std::uint64_t capacity_;
  std::byte* base_ = nullptr;
  std::uint64_t end_ = 0;  ///< of what grew, in bytes from the start
};

}  // namespace vramfit
