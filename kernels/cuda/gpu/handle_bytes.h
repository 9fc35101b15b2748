#pragma once

#include <cstdint>

namespace vramfit {

/// Bytes of the card that the process's first handle of a library takes while it is there, what the
/// library loads with it included. Makes the process's context, where there is none yet.
std::uint64_t cublaslt_bytes();
std::uint64_t cudnn_bytes();

}  // namespace vramfit
