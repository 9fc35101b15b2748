#pragma once

#include "model/ops/device.h"

namespace vramfit {

/// The oracle: each op as plain loops in the order of its formula. Elements are stored in their
/// tensor's dtype; arithmetic is in fp32, or in fp64 where they are fp64. An op returns when it is
/// done, and throws std::logic_error where a tensor is not what its contract says.
class CpuDevice : public Device {
 public:
  /// `arch` decides workspaces alone, so that a run's ledger equals that GPU's.
  explicit CpuDevice(Arch arch) : arch_(arch) {}

  Arch arch() const override { return arch_; }
  void upload(const Tensor& to, const void* from, std::uint64_t bytes) override;
  void download(void* to, const Tensor& from, std::uint64_t bytes) override;
  void synchronize() override {}

  void run(const FillNormal&) override;
  void run(const FillTokens&) override;
  void run(const EmbeddingForward&) override;
  void run(const EmbeddingBackward&) override;
  void run(const NormForward&) override;
  void run(const NormBackward&) override;
  void run(const RotaryEmbedding&) override;
  void run(const LinearForward&) override;
  void run(const LinearBackwardInput&) override;
  void run(const LinearBackwardWeight&) override;
  void run(const MlpUpForward&) override;
  void run(const MlpDownBackward&) override;
  void run(const AttentionForward&) override;
  void run(const AttentionBackward&) override;
  void run(const KvCacheAppend&) override;
  void run(const AttentionDecode&) override;
  void run(const HeadLoss&) override;
  void run(const LastToken&) override;
  void run(const Argmax&) override;
  void run(const OptimizerStep&) override;

 private:
  Arch arch_;
};

}  // namespace vramfit
