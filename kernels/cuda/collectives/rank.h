#pragma once

#include <cstdint>
#include <string>

namespace vramfit {

/// One of several GPUs that work together, each in a process of its own.
struct CudaRank {
  std::int64_t ranks = 1;
  std::int64_t rank = 0;
  std::string meeting;  ///< what nccl_meeting returned in one of the processes
};

/// Where ranks meet: for one process to make and the others to be told. Letters and digits. Throws
/// BadInput in a build without NCCL.
std::string nccl_meeting();

/// "2.28.3"; "none" in a build without NCCL.
std::string nccl_version();

}  // namespace vramfit
