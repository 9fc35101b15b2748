#pragma once

#include <algorithm>

#include "model/memory/allocator.h"

namespace vramfit {

/// One allocation of the device's own a block, of exactly the bytes asked for, so that what watches
/// its memory sees every access past a tensor's end. Offsets number the blocks in the order they
/// were asked for.
class ExactBlocks : public Allocator {
 public:
  Block allocate(std::uint64_t bytes, Placement = Placement::BestFit) final {
    std::byte* const data = take(bytes);
    ++live_;
    allocated_ += bytes;
    reserved_ = std::max(reserved_, allocated_);
    return {next_++, bytes, data};
  }
  void free(const Block& block) noexcept final {
    give_back(block.data);
    --live_;
    allocated_ -= block.bytes;
  }

  /// The most bytes that were allocated at once.
  std::uint64_t reserved() const final { return reserved_; }
  /// Blocks that were not freed yet.
  std::uint64_t live() const { return live_; }

 protected:
  std::uint64_t allocated() const { return allocated_; }

 private:
  /// Throws OutOfMemory.
  virtual std::byte* take(std::uint64_t bytes) = 0;
  virtual void give_back(std::byte* data) noexcept = 0;

  std::uint64_t next_ = 0;
  std::uint64_t live_ = 0;
  std::uint64_t allocated_ = 0;
  std::uint64_t reserved_ = 0;
};

}  // namespace vramfit
