#include "runtimes/llamacpp/graphs/architectures.h"

namespace vramfit::llamacpp {

using ggml::Tensor;

// src/models/openai-moe.cpp: attention sinks, biases of experts, and all rows to the last norm.
void build_gpt_oss(GraphBuilder& b) {
  ggml::Ops& g = b.ops();
  Tensor* x = b.embed_tokens();
  Tensor* positions = b.positions();
  const AttentionInputs inputs = b.attention_inputs();
  Tensor* out_rows = b.output_rows();

  for (std::size_t il = 0; il < b.layer_count(); ++il) {
    const LayerWeights& w = b.layer(il);
    Tensor* residual = x;
    Qkv qkv = b.qkv(b.rms_norm(x, w.attn_norm, il), il);
    qkv.q = g.rope(qkv.q, positions, nullptr);
    qkv.k = g.rope(qkv.k, positions, nullptr);
    residual = g.add(b.attention(inputs, qkv, il), residual);
    x = b.rms_norm(residual, w.attn_post_norm, il);
    x = b.experts(x,
                  {.gating = Gating::SoftmaxWeight,
                   .norm_weights = false,
                   .scale = b.hparams().expert_weights_scale},
                  il);
    x = g.add(x, residual);
  }
  b.keep(x);
  b.finish(b.head(b.output_norm(g.get_rows(x, out_rows))));
}

}  // namespace vramfit::llamacpp
