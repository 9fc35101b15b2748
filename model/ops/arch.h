#pragma once

#include <cstdint>

namespace vramfit {

/// A GPU's compute capability, 10 · major + minor: 90 is sm_90. Workspaces depend on it.
struct Arch {
  int sm = 90;
};

/// What every GEMM may use at most: cuBLAS's recommendation, 32 MiB on Hopper and 4 MiB elsewhere
/// (cuBLAS library documentation, cublasSetWorkspace). One block serves a whole run, as GEMMs run
/// one after another.
constexpr std::uint64_t gemm_workspace_bytes(Arch arch) {
  return std::uint64_t{arch.sm == 90 ? 32U : 4U} << 20;
}

}  // namespace vramfit
