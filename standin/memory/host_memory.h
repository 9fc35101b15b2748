#pragma once

#include <cstdint>
#include <map>

namespace vramfit::standin {

/// Page-locked memory of the host (cudaHostAlloc), which is reserved and committed as it is
/// written, what programs locked of their own (cudaHostRegister), and managed memory, which a
/// driver moves to a GPU and back as it sees fit. Counted apart from a GPU's, and the last from the
/// others.
class HostMemory {
 public:
  enum class Kind : std::uint8_t { Locked, Registered, Managed };

  /// Null where the host has no such range of addresses.
  void* allocate(std::uint64_t bytes, Kind kind = Kind::Locked);
  bool free(void* address);
  void lock(const void* address, std::uint64_t bytes);
  bool unlock(const void* address);

  bool holds(const void* address) const;
  bool is_managed(const void* address) const;
  std::uint64_t bytes() const { return locked_.bytes; }
  std::uint64_t peak() const { return locked_.peak; }
  std::uint64_t managed_peak() const { return managed_.peak; }

 private:
  struct Range {
    std::uint64_t bytes;
    Kind kind;
  };
  struct Level {
    std::uint64_t bytes = 0;
    std::uint64_t peak = 0;
  };
  void add(std::uint64_t address, Range range);
  void remove(std::map<std::uint64_t, Range>::iterator at);
  Level& level(Kind kind) { return kind == Kind::Managed ? managed_ : locked_; }
  const Range* around(const void* address) const;

  std::map<std::uint64_t, Range> ranges_;
  Level locked_;
  Level managed_;
};

}  // namespace vramfit::standin
