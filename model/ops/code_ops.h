#pragma once

#include <cstdint>

#include "model/memory/tensor.h"

// Products of codes of 8 bits, for weights that are trained: what is stored in 16 bits is encoded
// anew for each product, with one scale for all of a tensor (Micikevicius et al. 2022), made of
// what the tensor holds now. Tensor cores read both operands along their sum, so that one tensor's
// codes are wanted as they lie and transposed: the backward pass sums over outputs, then over
// tokens.

namespace vramfit {

/// What is beside codes that share a scale, in fp32: 16 bytes, as cuBLASLt wants scales to begin at
/// a multiple of them.
struct CodeScale {
  static constexpr std::int64_t kScale = 0;    ///< what they are multiplied by
  static constexpr std::int64_t kLargest = 1;  ///< the largest magnitude of what they are made of
  static constexpr std::int64_t kValues = 4;
};

/// The largest magnitude becomes that of `from` where it is larger; a NaN is none.
struct FindLargest {
  const Tensor& from;
  Tensor& scale;  ///< CodeScale's values
};

/// codes = from · code_factor(largest), to nearest, ties to even, beyond the format's largest to
/// it; the scale becomes 1 / factor.
struct EncodeTensor {
  const Tensor& from;  ///< (rows, columns), multiples of 16
  Tensor& scale;       ///< CodeScale's values; the largest magnitude is found
  Tensor* codes;       ///< (rows, columns); null: nobody wants them
  Tensor* transposed;  ///< (columns, rows), the same codes; null: nobody wants them
};

/// Which of a linear's three products it is.
enum class LinearPass : std::uint8_t { Forward, BackwardInput, BackwardWeight };

/// to (+)= a bᵀ + bias + residual, a and b of codes · their scales, rounded once. Sums over the
/// backward passes' products are in fp32; the forward pass's may keep fewer bits, 14 on Hopper.
struct CodesProduct {
  LinearPass pass;
  const Tensor& weight;    ///< which the linear has, for its name alone
  const Tensor& a;         ///< (rows, K)
  const Tensor& a_scale;   ///< CodeScale's values
  const Tensor& b;         ///< (columns, K)
  const Tensor& b_scale;   ///< CodeScale's values
  const Tensor* bias;      ///< (columns) or null
  const Tensor* residual;  ///< (rows, columns) or null; none where `to` is added to
  Tensor& to;              ///< (rows, columns)
  bool accumulate;
  Tensor& workspace;
};

/// dbias (+)= column sums of dy: what LinearBackwardWeight does of plain products.
struct BiasBackward {
  const Tensor& dy;  ///< (N, out)
  Tensor& dbias;     ///< (out)
  bool accumulate;
  Tensor& partials;  ///< bias_partials_shape
};

}  // namespace vramfit
