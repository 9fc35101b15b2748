#pragma once

#include "model/memory/memory_source.h"
#include "model/ops/each_op.h"

namespace vramfit {

/// A GPU's memory that need not exist: so many bytes, and nothing behind them.
class VirtualSource final : public MemorySource {
 public:
  explicit VirtualSource(std::uint64_t capacity = kUnlimitedBytes) : capacity_(capacity) {}

  std::uint64_t capacity() const override { return capacity_; }
  std::byte* base() const override { return nullptr; }
  void grow(std::uint64_t, std::uint64_t) override {}

 private:
  std::uint64_t capacity_;
};

/// A GPU of the given architecture that runs nothing: the step program's calls and allocations
/// with the arithmetic withheld.
class VirtualDevice final : public EachOp<VirtualDevice> {
 public:
  explicit VirtualDevice(Arch arch) : arch_(arch) {}

  Arch arch() const override { return arch_; }
  void upload(const Tensor&, const void*, std::uint64_t) override {}
  /// Leaves `to` as it is.
  void download(void*, const Tensor&, std::uint64_t) override {}
  void synchronize() override {}
  /// Walks no op again: nothing would come of it.
  std::unique_ptr<RecordedOps> record(const std::function<void()>&) override {
    return std::make_unique<RepeatedOps>([] {});
  }

  template <typename Op>
  void each(const Op&) {}

 private:
  Arch arch_;
};

}  // namespace vramfit
