#pragma once

#include <string>
#include <vector>

#include "bench/compare/run_file.h"

namespace vramfit::bench::compare {

/// A part of what a run takes beside its tensors: bytes in either run.
struct Share {
  std::string part;  ///< "context", "modules", "cublaslt", "cudnn", "driver_reserved"
  std::uint64_t before = 0;
  std::uint64_t after = 0;
};

/// What driver and libraries take in both runs, by the profile that each was measured with; empty
/// where one has none.
std::vector<Share> shares(const RunFile& before, const RunFile& after);

}  // namespace vramfit::bench::compare
