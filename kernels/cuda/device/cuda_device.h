#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cuda/collectives/rank.h"
#include "model/ops/device.h"

namespace vramfit {

struct CudaOptions {
  int device = 0;  ///< as CUDA counts them
  /// fp32 GEMMs through tensor cores, with 10 bits of mantissa.
  bool tf32 = false;
  /// Time each GEMM's candidates at its first call, rather than trust cuBLASLt's first. Loads the
  /// kernels of all of them.
  bool tune = false;
  /// File that keeps what tuning chose for the next process on the same GPU; empty: none.
  std::string gemm_algorithms;
  std::optional<CudaRank> rank;  ///< absent: it is alone
};

/// Runs ops on a GPU, on a stream of its own, in fp32, fp16 and bf16: GEMMs through cuBLASLt,
/// flash attention in 16 bits through cuDNN, all else by kernels of our own. Allocates no device
/// memory; what driver and libraries take for themselves, they take in the constructor and at an
/// op's first call with a shape.
class CudaDevice : public Device {
 public:
  /// Makes the GPU this thread's current one, and the process's context on it. Throws CudaError
  /// where there is none.
  explicit CudaDevice(const CudaOptions& options = {});
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  Arch arch() const override;
  void upload(const Tensor& to, const void* from, std::uint64_t bytes) override;
  void download(void* to, const Tensor& from, std::uint64_t bytes) override;
  void synchronize() override;
  /// As a CUDA graph. The ops have run before, so that libraries have loaded what they will.
  std::unique_ptr<RecordedOps> record(const std::function<void()>& ops) override;

  /// Copies all of `from` to the start of `to`.
  void copy(const Tensor& to, const Tensor& from);

  /// Notes when the work given so far is done, by the GPU's clock; does not wait for it.
  void lap();
  /// Seconds from each lap to the next, and forgets them. Waits for the last.
  std::vector<double> laps();

  /// Notes from here on when ops come to a collective that they await, and when it is done.
  void note_waits();
  /// Seconds from the one to the other, of all. Waits for the last.
  double waited();

  VRAMFIT_OPS(VRAMFIT_OVERRIDE_RUN)

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vramfit
