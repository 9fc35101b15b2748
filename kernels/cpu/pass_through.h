#pragma once

#include "model/memory/exact_blocks.h"

namespace vramfit {

/// Blocks on the heap, for sanitizers.
class PassThrough final : public ExactBlocks {
 private:
  std::byte* take(std::uint64_t bytes) override;
  void give_back(std::byte* data) noexcept override;
};

}  // namespace vramfit
