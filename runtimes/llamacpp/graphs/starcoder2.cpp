#include "runtimes/llamacpp/graphs/architectures.h"

namespace vramfit::llamacpp {

using ggml::Tensor;

// src/models/starcoder2.cpp.
void build_starcoder2(GraphBuilder& b) {
  ggml::Ops& g = b.ops();
  Tensor* x = b.embed_tokens();
  Tensor* positions = b.positions();
  const AttentionInputs inputs = b.attention_inputs();
  Tensor* out_rows = b.output_rows();

  for (std::size_t il = 0; il < b.layer_count(); ++il) {
    const LayerWeights& w = b.layer(il);
    Tensor* residual = x;
    Qkv qkv = b.qkv(b.norm(x, w.attn_norm, w.attn_norm_b, NormKind::Layer, il), il);
    qkv.q = g.rope(qkv.q, positions, nullptr);
    qkv.k = g.rope(qkv.k, positions, nullptr);
    x = b.attention(inputs, qkv, il);
    if (b.is_last(il)) {
      x = g.get_rows(x, out_rows);
      residual = g.get_rows(residual, out_rows);
    }
    residual = g.add(x, residual);
    x = b.plain_ffn(b.norm(residual, w.ffn_norm, w.ffn_norm_b, NormKind::Layer, il), il);
    x = g.add(x, residual);
  }
  b.finish(b.head(b.output_norm(x, NormKind::Layer)));
}

}  // namespace vramfit::llamacpp
