#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// cuBLAS's memory, from the caching allocator. Where a release keeps workspaces, a thread's handle
/// gets one when the thread first multiplies matrices, and cuBLASLt one of its own or that one, for
/// good; else each product has one while it runs.
///
/// aten/src/ATen/cuda/CublasHandlePool.cpp (getCurrentCUDABlasHandle,
/// getCurrentCUDABlasHandleWithWorkspace, getCUDABlasLtWorkspaceSize).
class Cublas {
 public:
  /// Before a GEMM's kernel runs, once its output exists.
  void use(Context& context);
  /// What an earlier run of the process left behind.
  void use_again(Context& context);
  /// Before one with an epilogue, by cuBLASLt.
  void use_lt(Context& context);

 private:
  struct Thread {
    Tensor workspace;
    Tensor lt_workspace;
  };
  Thread main_;
  Thread backward_;
};

}  // namespace vramfit::pytorch
