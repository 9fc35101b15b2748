#pragma once

#include <cstdint>
#include <string>

#include "model/ops/ops.h"

namespace vramfit {

/// What no device can do an op without, however well it fuses: the bytes of its contract, each
/// input read once and each output written once, and the FLOPs of its matrix products, of which
/// causal attention has half. With the rates of a GPU this bounds the op's time from below (the
/// roofline of Williams et al. 2009).
struct OpCost {
  const char* op;      ///< "norm_backward"
  const char* tensor;  ///< the weight it is about, "" where an op has but one use
  std::uint64_t bytes = 0;
  double flops = 0;  ///< a multiply-add is two

  /// "linear_forward:qkv": the same for the same op of every layer.
  std::string label() const;
};

#define VRAMFIT_COST(Op) OpCost cost(const Op& op);
VRAMFIT_OPS(VRAMFIT_COST)
#undef VRAMFIT_COST

}  // namespace vramfit
