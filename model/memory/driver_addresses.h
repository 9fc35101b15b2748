#pragma once

#include <cstdint>
#include <vector>

namespace vramfit {

/// Where cudaMalloc puts segments. Addresses decide nothing but which of two free blocks of one
/// size is taken first, the lower one; but that is enough to shape what a run reserves.
///
/// As seen on an H200 with driver 580: the context comes with room for 416 MiB, filled upwards
/// from below the first segment; what does not fit there gets a region of its own, a multiple of
/// 32 MiB, each below the one before; a rest in a region is used for what fits, the lowest first.
class DriverAddresses {
 public:
  DriverAddresses();
  std::uint64_t take(std::uint64_t bytes);
  void give(std::uint64_t offset, std::uint64_t bytes);

 private:
  struct Hole {
    std::uint64_t offset;
    std::uint64_t bytes;
  };
  std::vector<Hole> holes_;  ///< by offset, the lowest last
  std::uint64_t lowest_;
  std::uint64_t most_;  ///< no hole has more bytes: what exceeds it is not searched for
  bool first_ = true;
};

}  // namespace vramfit
