#pragma once

#include <cstdint>

#include "model/ops/arch.h"
#include "runtimes/pytorch/torch/tensor/release_rules.h"

namespace vramfit::pytorch {

/// What each of cuBLAS's handles gets on such a card: ":4096:8" on Hopper, and on Blackwell where
/// a release has it so; ":4096:2:16:8" elsewhere. aten/src/ATen/cuda/CublasHandlePool.cpp
/// (parseChosenWorkspaceSize).
constexpr std::int64_t cublas_workspace_bytes(Arch arch, const ReleaseRules& rules = {}) {
  const bool is_large = arch.sm == 90 || (rules.large_workspaces_on_blackwell && arch.sm >= 100);
  return is_large ? std::int64_t{4096} * 8 * 1024 : std::int64_t{4096} * 2 * 1024 + 16 * 8 * 1024;
}

}  // namespace vramfit::pytorch
