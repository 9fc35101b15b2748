#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "model/config/model_config.h"
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
  // Nothing where the norms are frozen.
  Tensor* dq_weight = nullptr;  ///< (d)
  bool accumulate_dq_weight = false;
  Tensor* dk_weight = nullptr;  ///< (d)
  bool accumulate_dk_weight = false;
  Tensor* partials = nullptr;  ///< head_norm_partials_shape, accumulation dtype
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

/// Where keys and values of one layer stand, in blocks of positions. Without a table sequence b has
/// block b, which is as long as a sequence can get; with one its i-th block is table[b][i] (Kwon et
/// al. 2023, PagedAttention). In 8 bits each position and head has a scale, as Quantize gives it.
struct KvBlocks {
  const Tensor& keys;                    ///< (blocks, positions of a block, k, d)
  const Tensor& values;                  ///< likewise
  const Tensor* key_scales = nullptr;    ///< (blocks, positions of a block, k), fp32: in 8 bits
  const Tensor* value_scales = nullptr;  ///< likewise
  const Tensor* table = nullptr;         ///< (B, blocks of a sequence), int32

  std::int64_t block() const { return keys.shape()[1]; }
  /// That a sequence can have.
  std::int64_t positions() const { return block() * (table == nullptr ? 1 : table->shape()[1]); }
};

/// Stores k and v of a sequence's tokens, at its positions from `starts` on.
struct KvCacheAppend {
  AttentionShape shape;
  const Tensor& qkv;  ///< (N, (a + 2k)·d), rotated
  const KvBlocks& cache;
  const Tensor* starts;  ///< (B), int32; null: 0
  const Tensor* counts;  ///< (B), int32: how many of a sequence's T tokens; null: all
};

/// counts[b] += by.
struct Advance {
  Tensor& counts;  ///< (B), int32
  std::int64_t by;
};

/// RotaryEmbedding and KvCacheAppend of one new token a sequence, which then attends to itself and
/// all before it.
struct AttentionDecode {
  AttentionShape shape;                ///< seq is 1
  Tensor& qkv;                         ///< (B, (a + 2k)·d); q and k are rotated in place
  const RopeFrequencies* frequencies;  ///< null: q and k stay as they are
  const KvBlocks& cache;
  const Tensor& starts;  ///< (B), int32: its position
  Tensor& out;           ///< (B, a·d)
  Tensor& workspace;     ///< attention_decode_workspace_bytes
};

}  // namespace vramfit
