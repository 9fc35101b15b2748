#pragma once

#include <cstdint>
#include <vector>

#include "model/errors.h"
#include "model/memory/allocator.h"

namespace vramfit {

/// One block behind the other, none used twice: the plainest allocator to put a ledger on.
class BumpAllocator final : public Allocator {
 public:
  explicit BumpAllocator(std::uint64_t capacity = std::uint64_t{1} << 40) : capacity_(capacity) {}

  Block allocate(std::uint64_t bytes, Placement) override {
    if (next_ + bytes > capacity_) throw OutOfMemory(bytes, next_, capacity_);
    const Block block = {next_, bytes, nullptr};
    next_ += bytes;
    return block;
  }
  void free(const Block& block) noexcept override { freed.push_back(block.offset); }
  std::uint64_t reserved() const override { return next_; }

  std::vector<std::uint64_t> freed;  ///< offsets, in order

 private:
  std::uint64_t capacity_;
  std::uint64_t next_ = 0;
};

}  // namespace vramfit
