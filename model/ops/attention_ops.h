#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "model/memory/tensor.h"

namespace vramfit {

/// Flash keeps a row statistic (Dao et al. 2022), O(T); Cublas keeps the probabilities, O(T²).
enum class AttentionForm : std::uint8_t { Flash, Cublas };

const char* name(AttentionForm form);
AttentionForm parse_attention(const std::string& text);  ///< throws BadInput

/// Causal self-attention of B sequences of T tokens, a query heads and k key/value heads of width
/// d; query head i reads key/value head i / (a/k). Scores are scaled by 1/sqrt(d).
struct AttentionShape {
  std::int64_t batch;
  std::int64_t seq;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t head_dim;

  std::int64_t tokens() const { return batch * seq; }
  std::int64_t q_width() const { return heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
  std::int64_t qkv_width() const { return q_width() + 2 * kv_width(); }

  friend auto operator<=>(const AttentionShape&, const AttentionShape&) = default;
};

/// RMSNorm of each head of q and k in place, with a weight for q's and one for k's.
struct HeadNormForward {
  float eps;
  AttentionShape shape;
  Tensor& qkv;             ///< (N, (a + 2k)·d); v's heads stay as they are
  const Tensor& q_weight;  ///< (d)
  const Tensor& k_weight;  ///< (d)
  Tensor* x;               ///< (N, (a + k)·d): q and k as they came; null where nothing comes back
  Tensor* rstd;            ///< (N, a + k), accumulation dtype; likewise
};

struct HeadNormBackward {
  AttentionShape shape;
  const Tensor& x;         ///< (N, (a + k)·d)
  const Tensor& rstd;      ///< (N, a + k)
  const Tensor& q_weight;  ///< (d)
  const Tensor& k_weight;  ///< (d)
  Tensor& dqkv;            ///< (N, (a + 2k)·d); in: gradient of what forward put there, out: of x
  Tensor& dq_weight;       ///< (d)
  bool accumulate_dq_weight;
  Tensor& dk_weight;  ///< (d)
  bool accumulate_dk_weight;
  Tensor& partials;  ///< head_norm_partials_shape, accumulation dtype
};

struct AttentionForward {
  AttentionForm form;
  AttentionShape shape;
  const Tensor& qkv;      ///< (N, (a + 2k)·d), rotated
  Tensor& out;            ///< (N, a·d)
  Tensor* log_sum_exp;    ///< Flash: (B, a, T), accumulation dtype; null where nothing comes back
  Tensor* probabilities;  ///< Cublas: (B, a, T, T), zero above the diagonal
  Tensor& workspace;      ///< attention_forward_workspace_bytes
  Tensor& gemm_workspace;
};

struct AttentionBackward {
  AttentionForm form;
  AttentionShape shape;
  const Tensor& qkv;
  const Tensor& out;
  const Tensor* log_sum_exp;    ///< Flash
  const Tensor* probabilities;  ///< Cublas
  const Tensor& dout;           ///< (N, a·d)
  Tensor& dqkv;                 ///< (N, (a + 2k)·d), every element written
  Tensor* dscores;              ///< Cublas: (B, a, T, T), scratch
  Tensor& workspace;            ///< attention_backward_workspace_bytes
  Tensor& gemm_workspace;
};

/// Copies k and v of T new positions to where they stand in the cache.
struct KvCacheAppend {
  AttentionShape shape;
  const Tensor& qkv;  ///< (N, (a + 2k)·d), rotated
  Tensor& keys;       ///< (B, positions, k, d)
  Tensor& values;     ///< (B, positions, k, d)
  std::int64_t first_position;
};

/// One new token a sequence against the first `length` positions of the cache, its own included.
struct AttentionDecode {
  AttentionShape shape;  ///< seq is 1
  const Tensor& qkv;     ///< (B, (a + 2k)·d), rotated
  const Tensor& keys;    ///< (B, positions, k, d)
  const Tensor& values;
  std::int64_t length;
  Tensor& out;        ///< (B, a·d)
  Tensor& workspace;  ///< attention_decode_workspace_bytes
};

}  // namespace vramfit
