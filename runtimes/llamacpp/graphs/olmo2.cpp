#include "runtimes/llamacpp/graphs/architectures.h"

namespace vramfit::llamacpp {

using ggml::Tensor;

// src/models/olmo2.cpp: norms behind what others have them before, and over all heads at once.
void build_olmo2(GraphBuilder& b) {
  ggml::Ops& g = b.ops();
  Tensor* x = b.embed_tokens();
  Tensor* positions = b.positions();
  const AttentionInputs inputs = b.attention_inputs();
  Tensor* out_rows = b.output_rows();

  for (std::size_t il = 0; il < b.layer_count(); ++il) {
    const LayerWeights& w = b.layer(il);
    const QkvHeads heads = b.heads(il);
    Tensor* residual = x;
    Qkv qkv = b.flat_qkv(x, heads, il);
    const auto split = [&](Tensor* of, std::int64_t count) {
      return g.reshape(of, {heads.size_q, count, b.tokens(), 1});
    };
    qkv.q = split(b.rms_norm(qkv.q, w.attn_q_norm, il), heads.heads);
    qkv.k = split(b.rms_norm(qkv.k, w.attn_k_norm, il), heads.kv_heads);
    qkv.v = split(qkv.v, heads.kv_heads);
    qkv.q = g.rope(qkv.q, positions, nullptr);
    qkv.k = g.rope(qkv.k, positions, nullptr);
    x = b.attention(inputs, qkv, il);
    if (b.is_last(il)) {
      x = g.get_rows(x, out_rows);
      residual = g.get_rows(residual, out_rows);
    }
    residual = g.add(b.rms_norm(x, w.attn_post_norm, il), residual);
    x = g.add(b.rms_norm(b.gated_ffn(residual, il), w.ffn_post_norm), residual);
  }
  b.finish(b.head(b.output_norm(x)));
}

}  // namespace vramfit::llamacpp
