#pragma once

#include <cstdint>

#include "model/memory/memory_source.h"

namespace vramfit {

/// Memory of the current GPU: one range of addresses, reserved whole, and physical memory mapped to
/// its start as it grows. What is mapped stays until the end, so that the card's used memory moves
/// by exactly what a pool reserved. `capacity` makes a large card behave as a smaller one.
class CudaSource final : public MemorySource {
 public:
  /// At most `capacity` bytes, and no more than the card has.
  explicit CudaSource(std::uint64_t capacity);
  /// Waits for the device: work in flight may use the memory.
  ~CudaSource() override;
  CudaSource(const CudaSource&) = delete;
  CudaSource& operator=(const CudaSource&) = delete;

  std::uint64_t capacity() const override { return capacity_; }
  std::byte* base() const override;
  /// Both in multiples of Pool::kGranularity. Throws OutOfMemory, and stays as it was, where the
  /// card has no more.
  void grow(std::uint64_t from, std::uint64_t to) override;

 private:
  std::uint64_t capacity_;
  int device_ = 0;
  std::uint64_t addresses_ = 0;  ///< bytes of the reserved range
  std::uint64_t base_ = 0;       ///< its start on the device
  std::uint64_t mapped_ = 0;     ///< bytes from its start
};

}  // namespace vramfit
