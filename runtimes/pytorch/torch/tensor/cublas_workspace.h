#pragma once

#include <cstdint>

#include "model/ops/arch.h"

namespace vramfit::pytorch {

/// What each of cuBLAS's handles gets on such a card: ":4096:8" on Hopper, ":4096:2:16:8"
/// elsewhere, on Blackwell too. aten/src/ATen/cuda/CublasHandlePool.cpp (parseChosenWorkspaceSize),
/// PyTorch 2.11.
constexpr std::int64_t cublas_workspace_bytes(Arch arch) {
  return arch.sm == 90 ? std::int64_t{4096} * 8 * 1024
                       : std::int64_t{4096} * 2 * 1024 + 16 * 8 * 1024;
}

}  // namespace vramfit::pytorch
