#pragma once

#include <cstdint>
#include <map>

namespace vramfit::standin {

/// Page-locked memory of the host (cudaHostAlloc), which is reserved and committed as it is
/// written, and what programs locked of their own (cudaHostRegister). Counted apart from a GPU's.
class HostMemory {
 public:
  /// Null where the host has no such range of addresses.
  void* allocate(std::uint64_t bytes);
  bool free(void* address);
  void lock(const void* address, std::uint64_t bytes);
  bool unlock(const void* address);

  bool holds(const void* address) const;
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t peak() const { return peak_; }

 private:
  struct Range {
    std::uint64_t bytes;
    bool ours;  ///< allocated here, not locked only
  };
  void add(std::uint64_t address, Range range);

  std::map<std::uint64_t, Range> ranges_;
  std::uint64_t bytes_ = 0;
  std::uint64_t peak_ = 0;
};

}  // namespace vramfit::standin
