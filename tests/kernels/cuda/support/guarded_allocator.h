#pragma once

#include <cstddef>
#include <vector>

#include "model/memory/allocator.h"

namespace vramfit {

/// GPU memory for tests: each block is an allocation of its own between two guards, and holds NaN
/// until something writes it. Where the environment has VRAMFIT_SANITIZER, blocks are bare and
/// unwritten, for compute-sanitizer to watch.
class GuardedAllocator final : public Allocator {
 public:
  GuardedAllocator();

  Block allocate(std::uint64_t bytes, Placement placement = Placement::BestFit) override;
  void free(const Block& block) noexcept override;
  std::uint64_t reserved() const override { return reserved_; }

  /// Bytes of all blocks that were not freed yet.
  void expect_whole_guards() const;

 private:
  std::uint64_t guard_bytes_;
  std::uint64_t reserved_ = 0;
  std::vector<Block> live_;
};

}  // namespace vramfit
