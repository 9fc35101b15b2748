#pragma once

#include <cstdint>

#include "model/config/model_config.h"
#include "model/memory/tensor.h"

// N is the number of tokens, B·T; h the hidden width; V the vocabulary. Arithmetic is in the
// accumulation dtype (fp32, or fp64 for fp64 tensors), rounded once when stored.

namespace vramfit {

/// The first `shape` elements of `tensor` become normal(mean, deviation), the padding behind them
/// zero. Element i depends on (seed, first + i) alone, so that every device draws the same, and
/// slabs draw what the whole would: see model/ops/random.h.
struct FillNormal {
  Tensor& tensor;
  float mean;
  float deviation;
  std::uint64_t seed;
  std::int64_t first = 0;
};

/// Int32 tokens, uniform over [0, vocab). Element i depends on (seed, i) alone.
struct FillTokens {
  Tensor& tokens;
  std::int64_t vocab;
  std::uint64_t seed;
};

/// x[n] = table[tokens[n]] + positions[starts[n / T] + n mod T].
struct EmbeddingForward {
  const Tensor& tokens;     ///< (B, T) int32
  const Tensor& table;      ///< (V, h)
  const Tensor* positions;  ///< (P, h); null without learned positions
  const Tensor* starts;     ///< (B), int32: each sequence's first position; null: 0
  Tensor& x;                ///< (N, h)
};

/// dtable[v] (+)= sum of dx over the tokens v; dpositions[t] (+)= sum of dx over the batch. Every
/// element of both is written, and padding rows as well.
struct EmbeddingBackward {
  const Tensor& tokens;  ///< (B, T) int32
  const Tensor& dx;      ///< (N, h)
  Tensor& dtable;        ///< (V, h)
  bool accumulate_table;
  Tensor* dpositions;  ///< (P, h); null without learned positions
  bool accumulate_positions;
  Tensor& workspace;  ///< embedding_backward_workspace_bytes
};

/// y = x · rstd · weight, or (x − mean) · rstd · weight + bias. RMSNorm: Zhang and Sennrich 2019;
/// LayerNorm: Ba et al. 2016. rstd = 1/sqrt(mean square or variance + eps).
struct NormForward {
  NormKind kind;
  float eps;
  const Tensor& x;            ///< (N, h)
  const Tensor& weight;       ///< (h)
  const Tensor* bias;         ///< (h); LayerNorm only
  Tensor& y;                  ///< (N, h)
  Tensor* rstd;               ///< (N), accumulation dtype; null where nothing comes back for it
  Tensor* mean;               ///< (N); LayerNorm only
  Tensor* largest = nullptr;  ///< finds y's, as FindLargest; null: nobody wants it
};

/// Overwrites dy with y, which is wanted next for the gradient of the weight that read it and was
/// not kept: one pass over the row yields both.
struct NormBackward {
  NormKind kind;
  const Tensor& x;       ///< (N, h)
  const Tensor& rstd;    ///< (N)
  const Tensor* mean;    ///< (N); LayerNorm only
  const Tensor& weight;  ///< (h)
  const Tensor* bias;    ///< (h); LayerNorm only
  Tensor& dy;            ///< (N, h); in: gradient of y, out: y itself
  Tensor& dx;            ///< (N, h)
  bool accumulate_dx;    ///< dx += rather than =: the residual branch's gradient is there already
  // Nothing where the norm is frozen.
  Tensor* dweight = nullptr;  ///< (h)
  bool accumulate_dweight = false;
  Tensor* dbias = nullptr;  ///< (h); LayerNorm only
  bool accumulate_dbias = false;
  /// norm_partials_shape, accumulation dtype: column sums by groups of rows
  Tensor* partials = nullptr;
};

/// Rotates q and k of `qkv` in place, by the position's angle, or back by it.
struct RotaryEmbedding {
  Tensor& qkv;  ///< (N, (a + 2k)·d)
  std::int64_t seq;
  std::int64_t rotated_heads;  ///< a + k; v's heads stay as they are
  std::int64_t head_dim;
  const RopeFrequencies& frequencies;
  const Tensor* starts;  ///< (B), int32: each sequence's first position; null: 0
  bool backward;
};

}  // namespace vramfit
