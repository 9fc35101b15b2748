#include "runtimes/llamacpp/graphs/architectures.h"

namespace vramfit::llamacpp {

using ggml::Tensor;

// src/models/llama.cpp, and mistral3, qwen2, qwen3 and qwen3moe, which are built alike.
void build_llama(GraphBuilder& b) {
  ggml::Ops& g = b.ops();
  Tensor* x = b.embed_tokens();
  Tensor* positions = b.positions();
  Tensor* scale = b.hparams().attention_temperature != 0 ? b.attention_scale() : nullptr;
  const AttentionInputs inputs = b.attention_inputs();
  Tensor* out_rows = b.output_rows();
  const Scales scales = b.hparams().arch == "qwen2" ? Scales::Ignored : Scales::Used;

  for (std::size_t il = 0; il < b.layer_count(); ++il) {
    const LayerWeights& w = b.layer(il);
    Tensor* residual = x;
    Qkv qkv = b.qkv(b.rms_norm(x, w.attn_norm, il), il);
    if (w.attn_q_norm != nullptr) qkv.q = b.rms_norm(qkv.q, w.attn_q_norm, il);
    if (w.attn_k_norm != nullptr) qkv.k = b.rms_norm(qkv.k, w.attn_k_norm, il);
    qkv.q = g.rope(qkv.q, positions, w.rope_factors);
    qkv.k = g.rope(qkv.k, positions, w.rope_factors);
    if (scale != nullptr) qkv.q = g.mul(qkv.q, scale);
    x = b.attention(inputs, qkv, il);
    if (b.is_last(il)) {
      x = g.get_rows(x, out_rows);
      residual = g.get_rows(residual, out_rows);
    }
    residual = g.add(x, residual);

    x = b.rms_norm(residual, w.ffn_norm, il);
    if (w.ffn_gate_inp == nullptr) {
      x = b.gated_ffn(x, il, scales);
    } else {
      x = b.experts(x, {.scale = b.hparams().expert_weights_scale, .scales = scales}, il);
    }
    x = g.add(x, residual);
  }
  b.finish(b.head(b.output_norm(x)));
}

}  // namespace vramfit::llamacpp
