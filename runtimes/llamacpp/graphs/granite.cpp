#include "runtimes/llamacpp/graphs/architectures.h"

namespace vramfit::llamacpp {

using ggml::Tensor;

// src/models/granite.cpp and granite-moe.cpp: what is added to the residual stream is scaled.
void build_granite(GraphBuilder& b) {
  ggml::Ops& g = b.ops();
  const Hparams& hparams = b.hparams();
  const auto scaled = [&](Tensor* x) { return hparams.residual_scale != 0 ? g.scale(x) : x; };
  Tensor* x = b.embed_tokens();
  Tensor* positions = b.positions();
  const AttentionInputs inputs = b.attention_inputs();
  Tensor* out_rows = b.output_rows();

  for (std::size_t il = 0; il < b.layer_count(); ++il) {
    const LayerWeights& w = b.layer(il);
    Tensor* residual = x;
    Qkv qkv = b.qkv(b.rms_norm(x, w.attn_norm, il), il);
    if (hparams.layers[il].rope) {
      qkv.q = g.rope(qkv.q, positions, w.rope_factors);
      qkv.k = g.rope(qkv.k, positions, w.rope_factors);
    }
    x = b.attention(inputs, qkv, il);
    if (b.is_last(il)) {
      x = g.get_rows(x, out_rows);
      residual = g.get_rows(residual, out_rows);
    }
    residual = g.add(scaled(x), residual);

    x = b.rms_norm(residual, w.ffn_norm, il);
    if (w.ffn_gate_inp == nullptr) {
      x = b.gated_ffn(x, il);
    } else {
      Tensor* routed = b.experts(x, {.scale = hparams.expert_weights_scale}, il);
      x = w.ffn_up_shexp == nullptr ? routed : g.add(routed, b.shared_experts(x, il));
    }
    x = g.add(scaled(x), residual);
  }
  b.finish(g.scale(b.head(b.output_norm(x))));
}

}  // namespace vramfit::llamacpp
