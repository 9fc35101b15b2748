#include "runtimes/llamacpp/graphs/architectures.h"

namespace vramfit::llamacpp {
namespace {

using ggml::Tensor;

/// A token's queries and compressed keys before heads are split.
struct Compressed {
  Tensor* q;     ///< [head_k_mla, heads, tokens]
  Tensor* kv;    ///< [lora_kv, tokens], normed
  Tensor* k_pe;  ///< [rot, 1, tokens], rotated: the part that knows the position
};

Compressed compress(GraphBuilder& b, Tensor* x, Tensor* positions, std::size_t il) {
  ggml::Ops& g = b.ops();
  const Hparams& hparams = b.hparams();
  const LayerWeights& w = b.layer(il);
  Compressed c{};
  if (w.wq != nullptr) {
    c.q = g.mul_mat(w.wq, x);
  } else {
    c.q = g.mul_mat(w.wq_b_proj, b.rms_norm(g.mul_mat(w.wq_a, x), w.attn_q_a_norm, il));
  }
  const std::int64_t head = hparams.latent() ? hparams.head_k_mla : hparams.head_k;
  c.q = g.reshape(c.q, {head, hparams.layers[il].heads, b.tokens(), 1});

  Tensor* both = g.mul_mat(w.wkv_a_mqa, x);
  const std::uint64_t row = both->type.row_size(hparams.lora_kv + hparams.rot);
  const std::uint64_t whole = row * static_cast<std::uint64_t>(b.tokens());
  Tensor* k_pe = g.view(both, {hparams.rot, 1, b.tokens(), 1}, {row, row, whole},
                        both->type.row_size(hparams.lora_kv));
  c.k_pe = g.rope(k_pe, positions, nullptr);
  Tensor* kv = g.view_2d(both, hparams.lora_kv, b.tokens(), row, 0);
  c.kv = b.rms_norm(kv, w.attn_kv_a_norm, il);
  return c;
}

/// Part of a head's dimensions of all heads.
Tensor* part_of_heads(GraphBuilder& b, Tensor* x, std::int64_t from, std::int64_t size) {
  const std::uint64_t whole = x->nb[2] * static_cast<std::uint64_t>(x->ne[2]);
  return b.ops().view(x, {size, x->ne[1], x->ne[2], 1}, {x->nb[1], x->nb[2], whole},
                      x->type.row_size(from));
}

/// Queries are taken to the space of compressed keys: attention with one head of keys.
Qkv absorbed(GraphBuilder& b, const Compressed& c, Tensor* positions, std::size_t il) {
  ggml::Ops& g = b.ops();
  const Hparams& hparams = b.hparams();
  const std::int64_t nope = hparams.head_k_mla - hparams.rot;
  Tensor* q_nope = part_of_heads(b, c.q, 0, nope);
  Tensor* q_pe = g.rope(part_of_heads(b, c.q, nope, hparams.rot), positions, nullptr);
  q_nope = g.mul_mat(b.layer(il).wk_b_proj, g.permute(q_nope, {0, 2, 1, 3}));
  Tensor* kv = g.reshape(c.kv, {hparams.lora_kv, 1, b.tokens(), 1});
  return {g.concat(g.permute(q_nope, {0, 2, 1, 3}), q_pe, 0), g.concat(kv, c.k_pe, 0), kv};
}

/// Keys and values of all heads, of files from before latent attention was cached as such.
Qkv decompressed(GraphBuilder& b, const Compressed& c, Tensor* positions, std::size_t il) {
  ggml::Ops& g = b.ops();
  const Hparams& hparams = b.hparams();
  const std::int64_t heads = hparams.layers[il].heads;
  const std::int64_t nope = hparams.head_k - hparams.rot;
  Tensor* kv = g.mul_mat(b.layer(il).wkv_b, c.kv);
  const std::uint64_t head = kv->type.row_size(nope + hparams.head_v);
  const std::uint64_t row = head * static_cast<std::uint64_t>(heads);
  const std::uint64_t whole = row * static_cast<std::uint64_t>(b.tokens());
  Tensor* k_nope = g.view(kv, {nope, heads, b.tokens(), 1}, {head, row, whole}, 0);
  Tensor* v = g.view(kv, {hparams.head_v, heads, b.tokens(), 1}, {head, row, whole},
                     kv->type.row_size(nope));
  Tensor* k_pe = g.repeat(c.k_pe, {hparams.rot, heads, b.tokens(), 1});
  return {g.rope(c.q, positions, nullptr), g.concat(k_nope, k_pe, 0), g.cont(v)};
}

}  // namespace

// src/models/deepseek2.cpp: latent attention.
void build_deepseek2(GraphBuilder& b) {
  ggml::Ops& g = b.ops();
  const Hparams& hparams = b.hparams();
  Tensor* x = b.embed_tokens();
  Tensor* scale = hparams.attention_temperature != 0 ? b.attention_scale() : nullptr;
  Tensor* positions = b.positions();
  const AttentionInputs inputs = b.attention_inputs();
  Tensor* out_rows = b.output_rows();

  for (std::size_t il = 0; il < b.layer_count(); ++il) {
    const LayerWeights& w = b.layer(il);
    Tensor* residual = x;
    const Compressed compressed = compress(b, b.rms_norm(x, w.attn_norm, il), positions, il);
    const bool latent = hparams.latent();
    Qkv qkv = latent ? absorbed(b, compressed, positions, il)
                     : decompressed(b, compressed, positions, il);
    if (scale != nullptr) qkv.q = g.mul(qkv.q, scale);
    x = latent ? b.latent_attention(inputs, qkv, w.wv_b_proj, il) : b.attention(inputs, qkv, il);
    if (b.is_last(il)) {
      x = g.get_rows(x, out_rows);
      residual = g.get_rows(residual, out_rows);
    }
    residual = g.add(x, residual);
    x = b.experts_behind_dense_lead(b.rms_norm(residual, w.ffn_norm, il), il);
    x = g.add(x, residual);
  }
  b.finish(b.head(b.output_norm(x)));
}

}  // namespace vramfit::llamacpp
