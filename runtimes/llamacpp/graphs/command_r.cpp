#include "runtimes/llamacpp/graphs/architectures.h"

namespace vramfit::llamacpp {

using ggml::Tensor;

// src/models/command-r.cpp: attention and network side by side, behind one norm.
void build_command_r(GraphBuilder& b) {
  ggml::Ops& g = b.ops();
  Tensor* x = b.embed_tokens();
  Tensor* positions = b.positions();
  const AttentionInputs inputs = b.attention_inputs();
  Tensor* out_rows = b.output_rows();

  for (std::size_t il = 0; il < b.layer_count(); ++il) {
    const LayerWeights& w = b.layer(il);
    Tensor* residual = x;
    Tensor* normed = b.norm(x, w.attn_norm, nullptr, NormKind::Layer, il);
    Qkv qkv = b.qkv(normed, il);
    if (w.attn_q_norm != nullptr) {
      qkv.q = b.norm(qkv.q, w.attn_q_norm, nullptr, NormKind::Layer, il);
    }
    if (w.attn_k_norm != nullptr) {
      qkv.k = b.norm(qkv.k, w.attn_k_norm, nullptr, NormKind::Layer, il);
    }
    qkv.q = g.rope(qkv.q, positions, nullptr);
    qkv.k = g.rope(qkv.k, positions, nullptr);
    Tensor* attended = b.attention(inputs, qkv, il);
    if (b.is_last(il)) {
      attended = g.get_rows(attended, out_rows);
      residual = g.get_rows(residual, out_rows);
      normed = g.get_rows(normed, out_rows);
    }
    x = g.add(g.add(b.gated_ffn(normed, il), residual), attended);
  }
  Tensor* logits = b.head(b.output_norm(x, NormKind::Layer));
  b.finish(b.hparams().logit_scale != 0 ? g.scale(logits) : logits);
}

}  // namespace vramfit::llamacpp
