#pragma once

#include <cstdint>

#include "model/ops/device.h"

namespace vramfit {

class HostRanks;

/// The oracle: each op as plain loops in the order of its formula. Elements are stored in their
/// tensor's dtype; arithmetic is in fp32, or in fp64 where they are fp64. An op returns when it is
/// done, and throws std::logic_error where a tensor is not what its contract says.
class CpuDevice : public Device {
 public:
  /// `arch` decides workspaces alone, so that a run's ledger equals that GPU's.
  explicit CpuDevice(Arch arch) : arch_(arch) {}
  /// One of `ranks`, which must outlive it.
  CpuDevice(Arch arch, HostRanks& ranks, std::int64_t rank)
      : arch_(arch), ranks_(&ranks), rank_(rank) {}

  Arch arch() const override { return arch_; }
  void upload(const Tensor& to, const void* from, std::uint64_t bytes) override;
  void download(void* to, const Tensor& from, std::uint64_t bytes) override;
  void synchronize() override {}

  VRAMFIT_OPS(VRAMFIT_OVERRIDE_RUN)

 private:
  HostRanks& ranks() const;

  Arch arch_;
  HostRanks* ranks_ = nullptr;  ///< null: alone
  std::int64_t rank_ = 0;
};

}  // namespace vramfit
