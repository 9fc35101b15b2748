#include "tests/kernels/support/accessible_bytes.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace vramfit {

std::uint64_t accessible_bytes(const std::byte* from, std::uint64_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(from);
  const std::uintptr_t end = begin + bytes;
  std::uint64_t sum = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    // "7f0c1a000000-7f0c1a200000 rw-p …"
    std::istringstream fields(line);
    std::uintptr_t low = 0;
    std::uintptr_t high = 0;
    char dash = 0;
    std::string permissions;
    fields >> std::hex >> low >> dash >> high >> permissions;
    low = std::max(low, begin);
    high = std::min(high, end);
    if (low < high && permissions.rfind("rw", 0) == 0) sum += high - low;
  }
  return sum;
}

}  // namespace vramfit
