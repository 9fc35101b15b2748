#pragma once

#include "model/memory/memory_source.h"

namespace vramfit {

/// Host memory: one range of addresses, reserved whole and made accessible as it grows. Bytes that
/// belong to no block cannot be used unnoticed: what is handed out or comes back is filled with
/// 0xFF, a NaN in every floating-point dtype and -1 in int32; under AddressSanitizer free ranges
/// are poisoned; beyond what has grown any access faults.
class HostSource final : public MemorySource {
 public:
  /// Addresses, not memory: more than any test or demonstration uses.
  static constexpr std::uint64_t kDefaultCapacity = std::uint64_t{64} << 30;

  explicit HostSource(std::uint64_t capacity = kDefaultCapacity);
  ~HostSource() override;
  HostSource(const HostSource&) = delete;
  HostSource& operator=(const HostSource&) = delete;

  std::uint64_t capacity() const override { return capacity_; }
  std::byte* base() const override { return base_; }
  void grow(std::uint64_t from, std::uint64_t to) override;
  void on_allocate(std::uint64_t offset, std::uint64_t bytes) override;
  void on_free(std::uint64_t offset, std::uint64_t bytes) override;

 private:
  std::uint64_t capacity_;
  std::byte* base_;
  std::uint64_t grown_ = 0;  ///< bytes from the start that are accessible
};

}  // namespace vramfit
