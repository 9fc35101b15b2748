#pragma once

#include "model/memory/exact_blocks.h"

namespace vramfit {

/// Blocks of cudaMalloc, for compute-sanitizer, which also sees every read of what nothing wrote.
class CudaPassThrough final : public ExactBlocks {
 private:
  std::byte* take(std::uint64_t bytes) override;
  /// Waits for the device.
  void give_back(std::byte* data) noexcept override;
};

}  // namespace vramfit
