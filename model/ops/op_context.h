#pragma once

#include "model/memory/tensor.h"
#include "model/ops/device.h"

namespace vramfit {

/// What every op needs: the device that runs it, the ledger it allocates from, the dtype that
/// weights and activations are stored in, and the workspace that all GEMMs share.
class OpContext {
 public:
  /// All must outlive the context. Allocates the GEMM workspace.
  OpContext(Device& device_, Ledger& ledger_, DType dtype_)
      : device(device_),
        ledger(ledger_),
        dtype(dtype_),
        gemm_workspace(bytes("gemm_workspace", gemm_workspace_bytes(device.arch()))) {}

  Tensor activation(const Name& name, const Shape& shape) const {
    return {ledger, name, Category::Activations, dtype, shape};
  }
  /// Row statistics, kept in the accumulation dtype.
  Tensor statistics(const Name& name, const Shape& shape) const {
    return {ledger, name, Category::Activations, accumulation_dtype(dtype), shape};
  }
  /// Scratch of one op, in the accumulation dtype.
  Tensor scratch(const Name& name, const Shape& shape) const {
    return {ledger, name, Category::Workspace, accumulation_dtype(dtype), shape};
  }
  /// Scratch whose layout is the device's own.
  Tensor bytes(const Name& name, std::uint64_t size) const {
    const auto words = static_cast<std::int64_t>((size + 3) / 4);
    return {ledger, name, Category::Workspace, DType::Int32, {words}};
  }

  Device& device;
  Ledger& ledger;
  const DType dtype;
  Tensor gemm_workspace;
};

}  // namespace vramfit
