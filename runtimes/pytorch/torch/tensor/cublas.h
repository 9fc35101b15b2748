#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// cuBLAS's memory. A thread's handle gets a workspace from the caching allocator when the thread
/// first multiplies matrices, cuBLASLt one of its own; both are kept for good.
///
/// aten/src/ATen/cuda/CublasHandlePool.cpp (getCurrentCUDABlasHandle, parseChosenWorkspaceSize,
/// getCUDABlasLtWorkspaceSize), PyTorch 2.11.
class Cublas {
 public:
  /// Before a GEMM's kernel runs, once its output exists.
  void use(Context& context);
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
