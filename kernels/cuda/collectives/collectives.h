#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "kernels/cuda/collectives/rank.h"
#include "model/ops/collective_ops.h"

namespace vramfit {

/// Runs collectives through NCCL, on a stream of their own beside the one that ops run on. The host
/// waits for none: streams wait for events. Allocates no device memory; what NCCL takes, it takes
/// in the constructor, which meets the other ranks and runs each kind of collective once.
class Collectives {
 public:
  /// Throws BadInput in a build without NCCL, CudaError where the ranks do not meet.
  Collectives(const CudaRank& rank, cudaStream_t ops);
  ~Collectives();
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  void run(const AllReduce& op);
  void run(const ReduceScatter& op);
  void run(const AllGather& op);
  void run(const Exchange& op);
  void run(const SumWith& op);
  void run(const Await& op);
  /// The host waits for all of them.
  void synchronize();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vramfit
