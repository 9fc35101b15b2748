#pragma once

#include "model/errors.h"
#include "model/memory/allocator.h"
#include "runtimes/runtime.h"

namespace vramfit {

/// Adds up, in whole granules, and gives nothing back: of runs in which nothing is freed.
class SumAllocator final : public Allocator {
 public:
  explicit SumAllocator(std::uint64_t capacity, std::uint64_t granule = 1)
      : capacity_(capacity), granule_(granule) {}

  Block allocate(std::uint64_t bytes, Placement) override {
    const std::uint64_t whole = (bytes + granule_ - 1) / granule_ * granule_;
    if (whole > capacity_ - reserved_) throw OutOfMemory(bytes, reserved_, capacity_);
    const Block block{reserved_, whole};
    reserved_ += whole;
    return block;
  }
  void free(const Block&) noexcept override {}
  std::uint64_t reserved() const override { return reserved_; }

 private:
  std::uint64_t capacity_;
  std::uint64_t granule_;
  std::uint64_t reserved_ = 0;
};

/// What a run takes whose `body` tells a ledger of all that it allocates.
template <typename Body>
RunReport report_on_sum(std::uint64_t capacity, const Extent& extent, const Body& body) {
  SumAllocator sum(capacity + extent.extra_capacity);
  Ledger ledger(sum, Counts::Requested, extent.detail.events);
  return report_on(ledger, [&] { body(ledger); });
}

}  // namespace vramfit
