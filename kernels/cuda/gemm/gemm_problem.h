#pragma once

#include <cstdint>

#include "kernels/cuda/gemm/gemm.h"

namespace vramfit {

/// A GEMM as cuBLASLt describes it: by column-major matrices. A row-major matrix is its transpose's
/// column-major one, so toᵀ = bᵀ aᵀ is what is computed.
class GemmProblem {
 public:
  GemmProblem(const Gemm& gemm, bool tf32);
  ~GemmProblem();
  GemmProblem(const GemmProblem&) = delete;
  GemmProblem& operator=(const GemmProblem&) = delete;

  /// The best at most `count` of those that need at most `workspace_bytes`, best first; returns how
  /// many there are. `gemm`: for its pointers' alignment.
  int candidates(cublasLtHandle_t handle, const Gemm& gemm, std::uint64_t workspace_bytes,
                 cublasLtMatmulHeuristicResult_t* results, int count);

  /// Whether `algorithm` computes this within the workspace.
  bool accepts(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm,
               std::uint64_t workspace_bytes) const;

  cublasStatus_t run(cublasLtHandle_t handle, const Gemm& gemm,
                     const cublasLtMatmulAlgo_t& algorithm, const Tensor& workspace,
                     cudaStream_t stream);

 private:
  void set_pointers(const Gemm& gemm);

  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr;
  cublasLtMatrixLayout_t b_ = nullptr;
  cublasLtMatrixLayout_t to_ = nullptr;
  const void* bias_ = nullptr;
  const float* a_scales_ = nullptr;
  const float* b_scales_ = nullptr;
};

}  // namespace vramfit
