#pragma once

#include <cstddef>
#include <cstdint>

namespace vramfit::standin {

/// The addresses of one GPU's memory: reserved, so that nothing else gets them, and never to be
/// touched, so that a program that reads device memory from the host ends as it would with a GPU.
/// Each has a twin in ordinary memory, a fixed distance above, which holds the values of small
/// tensors. Nothing of either is committed until a twin is written.
class AddressSpace {
 public:
  static constexpr std::uint64_t kBytes = std::uint64_t{1} << 41;

  AddressSpace();

  std::uint64_t begin() const { return begin_; }
  bool holds(std::uint64_t address) const { return address >= begin_ && address - begin_ < kBytes; }
  /// Where the values of what lies at `address` are kept.
  static std::byte* twin(std::uint64_t address) {
    return reinterpret_cast<std::byte*>(address + kBytes);  // NOLINT(performance-no-int-to-ptr)
  }
  /// Gives the twin's pages back: its bytes read as zero.
  static void forget(std::uint64_t address, std::uint64_t bytes);

 private:
  std::uint64_t begin_;
};

}  // namespace vramfit::standin
