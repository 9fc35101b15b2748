#pragma once

#include <cstdint>
#include <vector>

#include "model/memory/tensor.h"

// The second halves of low-rank adapters (Hu et al. 2021), which stand beside a frozen linear and
// add to some columns of its output. Their first halves, u = x Aᵀ, are linears of their own, all of
// one input in one. Every `workspace` is the GEMM workspace, gemm_workspace_bytes large.

namespace vramfit {

/// Neighbouring columns of a linear's output that one adapter adds to.
struct AdaptedColumns {
  std::int64_t first;
  std::int64_t width;

  friend bool operator==(const AdaptedColumns&, const AdaptedColumns&) = default;
};

/// The adapters beside one linear, by the columns they add to: the p-th of P has r columns of u,
/// from p · r on, and as many rows of b as it adds to columns, behind those of the ones before.
struct AdaptersOfLinear {
  std::vector<AdaptedColumns> columns;
  float scale;  ///< alpha / r

  std::int64_t count() const { return static_cast<std::int64_t>(columns.size()); }
  std::int64_t width() const {
    std::int64_t sum = 0;
    for (const AdaptedColumns& part : columns) sum += part.width;
    return sum;
  }
};

/// y[:, columns] += scale · u bᵀ, each adapter's by itself; rounded once more.
struct LoraForward {
  const AdaptersOfLinear& adapters;
  const Tensor& u;  ///< (N, P · r)
  const Tensor& b;  ///< (sum of widths, r)
  Tensor& y;        ///< (N, out)
  Tensor& workspace;
};

/// du = scale · dy[:, columns] b.
struct LoraBackwardInput {
  const AdaptersOfLinear& adapters;
  const Tensor& dy;  ///< (N, out)
  const Tensor& b;   ///< (sum of widths, r)
  Tensor& du;        ///< (N, P · r)
  Tensor& workspace;
};

/// db (+)= scale · dy[:, columns]ᵀ u.
struct LoraBackwardWeight {
  const AdaptersOfLinear& adapters;
  const Tensor& u;   ///< (N, P · r)
  const Tensor& dy;  ///< (N, out)
  Tensor& db;        ///< (sum of widths, r)
  bool accumulate;
  Tensor& workspace;
};

}  // namespace vramfit
