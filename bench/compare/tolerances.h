#pragma once

#include <cstdint>
#include <string>

namespace vramfit::bench::compare {

/// What repeated runs of one build on one card differ by, bytes, and where that was learned.
struct Tolerances {
  std::uint64_t reserved = 0;
  std::uint64_t device_used = 0;
  std::string source;
};

/// Of data/tolerances.json.
Tolerances read_tolerances();

}  // namespace vramfit::bench::compare
