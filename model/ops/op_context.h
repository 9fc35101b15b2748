#pragma once

#include "model/memory/tensor.h"
#include "model/ops/device.h"
#include "model/ops/workspaces.h"
#include "model/precisions.h"

namespace vramfit {

/// What every op needs: the device that runs it, the ledger it allocates from, what tensors are
/// stored in, and the workspace that all GEMMs share.
class OpContext {
 public:
  /// All must outlive the context. Allocates the GEMM workspace.
  OpContext(Device& device_, Ledger& ledger_, const Precisions& precisions_)
      : device(device_),
        ledger(ledger_),
        precisions(precisions_),
        gemm_workspace(bytes("gemm_workspace", gemm_workspace_bytes(device.arch()))) {}

  /// `stored`: with the padding behind its rows.
  Tensor weight(const Name& name, Format format, const Shape& shape, const Shape& stored) const {
    return {ledger, name, Category::Parameters, format, shape, stored};
  }
  Tensor gradient(const Name& name, const Shape& shape, const Shape& stored) const {
    return {ledger, name, Category::Gradients, precisions.gradients, shape, stored};
  }
  Tensor master_weight(const Name& name, const Shape& shape, const Shape& stored) const {
    return {ledger, name, Category::OptimizerState, precisions.accumulation, shape, stored};
  }
  Tensor moment(const Name& name, const Shape& shape, const Shape& stored,
                MemorySpace space = MemorySpace::Device) const {
    return {ledger.of(space),
            name,
            Category::OptimizerState,
            precisions.optimizer_states,
            shape,
            stored};
  }
  /// Of moments that are codes.
  Tensor moment_scales(const Name& name, const Shape& shape) const {
    return {ledger, name, Category::OptimizerState, DType::Fp32, shape};
  }
  Tensor activation(const Name& name, const Shape& shape) const {
    return {ledger, name, Category::Activations, precisions.activations, shape};
  }
  /// Rows as a linear multiplies them.
  Tensor linear_input(const Name& name, const Shape& shape) const {
    return {ledger, name, Category::Activations, precisions.linear_inputs, shape};
  }
  /// Row statistics.
  Tensor statistics(const Name& name, const Shape& shape) const {
    return {ledger, name, Category::Activations, precisions.accumulation, shape};
  }
  Tensor cache(const Name& name, const Shape& shape) const {
    return {ledger, name, Category::KvCache, precisions.cache, shape};
  }
  /// Of 8 bits: of each position and head.
  Tensor cache_scales(const Name& name, const Shape& shape) const {
    return {ledger, name, Category::KvCache, DType::Fp32, shape};
  }
  Tensor tokens(const Name& name, const Shape& shape) const {
    return integers(name, Category::Inputs, shape);
  }
  Tensor integers(const Name& name, Category category, const Shape& shape) const {
    return {ledger, name, category, DType::Int32, shape};
  }
  /// Scratch of one op that sums in it.
  Tensor scratch(const Name& name, const Shape& shape) const {
    return {ledger, name, Category::Workspace, precisions.accumulation, shape};
  }
  /// Scratch whose layout is the device's own.
  Tensor bytes(const Name& name, std::uint64_t size,
               MemorySpace space = MemorySpace::Device) const {
    const auto words = static_cast<std::int64_t>((size + 3) / 4);
    return {ledger.of(space), name, Category::Workspace, DType::Int32, {words}};
  }

  Device& device;
  Ledger& ledger;
  const Precisions precisions;
  Tensor gemm_workspace;
};

}  // namespace vramfit
