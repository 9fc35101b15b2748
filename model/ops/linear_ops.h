#pragma once

#include "model/config/model_config.h"
#include "model/memory/tensor.h"

// Weights are (out, in). Every `workspace` is the GEMM workspace, gemm_workspace_bytes large.

namespace vramfit {

/// What is done to the rows of a linear before they are multiplied, where they are normed_rows at
/// most: NormForward's, rounded to x's format.
struct InputNorm {
  NormKind kind;
  float eps;
  const Tensor& weight;  ///< (in)
  const Tensor* bias;    ///< (in); LayerNorm only
};

/// What a linear whose weight is quantised has beside one whose is not; nothing otherwise.
/// Where inputs are in 8 bits as well, sums are of products of codes, in fp32 or int32, and scaled
/// once: kFusedRows rows at most are quantised by what multiplies them, more come as `x_scales`
/// says. Where the weight alone is, it is read as code · scale, codes rounded to y's format:
/// of at most direct_rows by what multiplies it, of more by way of `dequantized`, rounded to
/// y's format, as many of its rows at a time as that holds.
struct QuantizedOperands {
  const Tensor* x_scales = nullptr;       ///< (N), fp32: x is in 8 bits
  const Tensor* weight_scales = nullptr;  ///< (out), fp32: rows have one each
  Tensor* dequantized = nullptr;          ///< (dequantized_rows, in), y's format; more rows only
  bool quantizes_x = false;               ///< of few rows, as Quantize does, to the weight's format
};

/// y = x Wᵀ + bias + residual, rounded once.
struct LinearForward {
  const Tensor& x;         ///< (N, in)
  const Tensor& weight;    ///< (out, in)
  const Tensor* bias;      ///< (out) or null
  const Tensor* residual;  ///< (N, out) or null
  Tensor& y;               ///< (N, out); as many rows as the weight stores, padding included
  Tensor& workspace;
  QuantizedOperands quantized = {};
  const InputNorm* norm = nullptr;  ///< of few rows; null: none
};

/// dx (+)= dy W. A weight that is quantised is read as code · scale, rounded to dy's format, as
/// many of its columns at a time as `dequantized` holds, so that no sum is split.
struct LinearBackwardInput {
  const Tensor& dy;      ///< (N, out)
  const Tensor& weight;  ///< (out, in)
  Tensor& dx;            ///< (N, in)
  bool accumulate;
  Tensor& workspace;
  const Tensor* weight_scales = nullptr;  ///< (out), fp32: rows have one each
  Tensor* dequantized =
      nullptr;  ///< (out, dequantized_columns), dy's format; quantised weights only
};

/// dW (+)= dyᵀ x; dbias (+)= column sums of dy.
struct LinearBackwardWeight {
  const Tensor& x;   ///< (N, in)
  const Tensor& dy;  ///< (N, out)
  Tensor& dweight;   ///< (out, in)
  bool accumulate_dweight;
  Tensor* dbias;  ///< (out) or null
  bool accumulate_dbias;
  Tensor* partials;  ///< bias_partials_shape, accumulation dtype; null without a bias
  Tensor& workspace;
};

/// pre = x Wᵀ + bias; act = silu(gate) · up, or gelu(pre), computed from `pre` as stored.
struct MlpUpForward {
  ActivationKind kind;
  const Tensor& x;       ///< (N, h)
  const Tensor& weight;  ///< SwiGLU: (2f, h), gate above up; GELU: (f, h)
  const Tensor* bias;
  Tensor& pre;  ///< (N, 2f) or (N, f)
  Tensor& act;  ///< (N, f)
  Tensor& workspace;
  QuantizedOperands quantized = {};
  const InputNorm* norm = nullptr;  ///< of few rows; null: none
};

/// act = silu(gate) · up, or gelu(pre).
struct Activate {
  ActivationKind kind;
  const Tensor& pre;              ///< (N, 2f) or (N, f)
  Tensor& act;                    ///< (N, f)
  Tensor* largest = nullptr;      ///< finds act's, as FindLargest; null: nobody wants it
  Tensor* pre_largest = nullptr;  ///< and that of pre
};

/// Overwrites pre with its gradient and the activation's gradient with the activation, which down's
/// weight gradient wants and nobody kept.
struct ActivateBackward {
  ActivationKind kind;
  Tensor& pre;  ///< (N, 2f) or (N, f); in: pre-activation, out: its gradient
  Tensor& act;  ///< (N, f); in: the gradient of activation(pre), out: activation(pre)
  Tensor* largest =
      nullptr;  ///< finds that of pre's gradient, as FindLargest; null: nobody wants it
  /// (N, 2f) or (N, f), 8 bits: where they are read, code · scale rounded to pre's format, and pre
  /// is written alone; null: it is read as well.
  const Tensor* codes = nullptr;
  const Tensor* codes_scale = nullptr;  ///< CodeScale's values
};

}  // namespace vramfit
