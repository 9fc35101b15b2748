#pragma once

#include <cstdint>
#include <stdexcept>

namespace vramfit {

/// A GPU's compute capability, 10 · major + minor: 90 is sm_90. Workspaces depend on it.
struct Arch {
  int sm = 0;  ///< 0: nobody said, and no rule has an answer
};

/// What every GEMM may use at most: cuBLAS's recommendation, 32 MiB on Hopper and 4 MiB elsewhere
/// (cuBLAS library documentation, cublasSetWorkspace). One block serves a whole run, as GEMMs run
/// one after another.
constexpr std::uint64_t gemm_workspace_bytes(Arch arch) {
  if (arch.sm == 0) throw std::logic_error("the GPU's compute capability is not said");
  return std::uint64_t{arch.sm == 90 ? 32U : 4U} << 20;
}

}  // namespace vramfit
