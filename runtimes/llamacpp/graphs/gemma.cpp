#include "runtimes/llamacpp/graphs/architectures.h"

namespace vramfit::llamacpp {

using ggml::Tensor;

// src/models/gemma2.cpp and gemma3.cpp: norms behind attention and network as well.
void build_gemma(GraphBuilder& b) {
  ggml::Ops& g = b.ops();
  Tensor* x = g.scale(b.embed_tokens());
  Tensor* positions = b.positions();
  const AttentionInputs inputs = b.attention_inputs();
  Tensor* out_rows = b.output_rows();

  for (std::size_t il = 0; il < b.layer_count(); ++il) {
    const LayerWeights& w = b.layer(il);
    Tensor* residual = x;
    Qkv qkv = b.qkv(b.rms_norm(x, w.attn_norm, il), il);
    if (w.attn_q_norm != nullptr) qkv.q = b.rms_norm(qkv.q, w.attn_q_norm, il);
    if (w.attn_k_norm != nullptr) qkv.k = b.rms_norm(qkv.k, w.attn_k_norm, il);
    qkv.q = g.scale(g.rope(qkv.q, positions, nullptr));
    qkv.k = g.rope(qkv.k, positions, nullptr);
    x = b.attention(inputs, qkv, il);
    if (b.is_last(il)) {
      x = g.get_rows(x, out_rows);
      residual = g.get_rows(residual, out_rows);
    }
    residual = g.add(b.rms_norm(x, w.attn_post_norm, il), residual);
    x = b.gated_ffn(b.rms_norm(residual, w.ffn_norm, il), il);
    x = g.add(b.rms_norm(x, w.ffn_post_norm), residual);
  }
  Tensor* logits = b.head(b.output_norm(x));
  b.finish(b.hparams().final_softcap != 0 ? b.softcap(logits) : logits);
}

}  // namespace vramfit::llamacpp
