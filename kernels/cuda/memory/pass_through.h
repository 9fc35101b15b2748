#pragma once

#include "model/memory/allocator.h"

namespace vramfit {

/// One cudaMalloc a block, of exactly the bytes asked for, so that compute-sanitizer sees every
/// access past a tensor's end and every read of what nothing wrote. Offsets number the blocks in
/// the order they were asked for.
class CudaPassThrough final : public Allocator {
 public:
  Block allocate(std::uint64_t bytes, Placement placement = Placement::BestFit) override;
  /// Waits for the device.
  void free(const Block& block) noexcept override;

  /// The most bytes that were allocated at once.
  std::uint64_t reserved() const override { return reserved_; }
  /// Blocks that were not freed yet.
  std::uint64_t live() const { return live_; }

 private:
  std::uint64_t next_ = 0;
  std::uint64_t live_ = 0;
  std::uint64_t allocated_ = 0;
  std::uint64_t reserved_ = 0;
};

}  // namespace vramfit
