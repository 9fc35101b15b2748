#include "runtimes/llamacpp/graphs/architectures.h"

namespace vramfit::llamacpp {

using ggml::Tensor;

// src/models/falcon.cpp: attention and network side by side.
void build_falcon(GraphBuilder& b) {
  ggml::Ops& g = b.ops();
  Tensor* x = b.embed_tokens();
  Tensor* positions = b.positions();
  const AttentionInputs inputs = b.attention_inputs();
  Tensor* out_rows = b.output_rows();

  for (std::size_t il = 0; il < b.layer_count(); ++il) {
    const LayerWeights& w = b.layer(il);
    Tensor* residual = x;
    Tensor* normed = b.norm(x, w.attn_norm, w.attn_norm_b, NormKind::Layer, il);
    Tensor* attended = normed;
    if (w.attn_norm_2 != nullptr) {
      attended = b.norm(x, w.attn_norm_2, w.attn_norm_2_b, NormKind::Layer, il);
    }
    Qkv qkv = b.qkv(attended, il);
    qkv.q = g.rope(qkv.q, positions, nullptr);
    qkv.k = g.rope(qkv.k, positions, nullptr);
    attended = b.attention(inputs, qkv, il);
    if (b.is_last(il)) {
      attended = g.get_rows(attended, out_rows);
      residual = g.get_rows(residual, out_rows);
      normed = g.get_rows(normed, out_rows);
    }
    x = g.add(g.add(b.plain_ffn(normed, il), attended), residual);
  }
  b.finish(b.head(b.output_norm(x, NormKind::Layer)));
}

}  // namespace vramfit::llamacpp
