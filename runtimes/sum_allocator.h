#pragma once

#include "model/errors.h"
#include "model/memory/allocator.h"

namespace vramfit {

/// Adds up, to the byte, and gives nothing back: of runs in which nothing is freed, or whose
/// allocator is known by its sums.
class SumAllocator final : public Allocator {
 public:
  explicit SumAllocator(std::uint64_t capacity) : capacity_(capacity) {}

  Block allocate(std::uint64_t bytes, Placement) override {
    if (bytes > capacity_ - reserved_) throw OutOfMemory(bytes, reserved_, capacity_);
    const Block block{reserved_, bytes};
    reserved_ += bytes;
    return block;
  }
  void free(const Block&) noexcept override {}
  std::uint64_t reserved() const override { return reserved_; }

 private:
  std::uint64_t capacity_;
  std::uint64_t reserved_ = 0;
};

}  // namespace vramfit
