#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vramfit {

/// One of several GPUs that work together, each in a process or thread of its own.
struct CudaRank {
  std::int64_t ranks = 1;
  std::int64_t rank = 0;
  std::string address;  ///< "host:port", where rank 0 waits for the others; the same in all
  std::vector<std::int64_t> correspondents = {};  ///< that it exchanges messages with
};

/// "2.28.3"; "none" in a build without NCCL.
std::string nccl_version();

}  // namespace vramfit
