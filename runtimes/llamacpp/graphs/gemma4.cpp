#include "runtimes/llamacpp/graphs/architectures.h"

namespace vramfit::llamacpp {
namespace {

using ggml::Tensor;

/// build_inp_per_layer and project_per_layer_inputs: [embd_per_layer, tokens, layers].
Tensor* per_layer_inputs(GraphBuilder& b, Tensor* x) {
  ggml::Ops& g = b.ops();
  const Weights& w = b.weights();
  const ggml::Shape shape{b.hparams().embd_per_layer, static_cast<std::int64_t>(b.layer_count()),
                          b.tokens(), 1};
  Tensor* ids = g.input(ggml::kI32, {b.tokens(), 1, 1, 1});
  Tensor* own = g.scale(g.reshape(g.get_rows(w.per_layer_token_embd, ids), shape));
  b.expand(own);
  Tensor* projected = g.reshape(g.scale(g.mul_mat(w.per_layer_model_proj, x)), shape);
  projected = b.rms_norm(projected, w.per_layer_proj_norm);
  return g.cont(g.permute(g.scale(g.add(projected, own)), {0, 2, 1, 3}));
}

Tensor* input_of_layer(GraphBuilder& b, Tensor* inputs, std::size_t il) {
  const std::uint64_t row = inputs->type.row_size(inputs->ne[0]);
  return b.ops().view_2d(inputs, inputs->ne[0], inputs->ne[1], row,
                         il * row * static_cast<std::uint64_t>(inputs->ne[1]));
}

/// Queries, and keys and values unless the layer looks at those of another.
Qkv queries_keys_values(GraphBuilder& b, Tensor* x, Tensor* positions, std::size_t il) {
  ggml::Ops& g = b.ops();
  const Hparams& hparams = b.hparams();
  const LayerWeights& w = b.layer(il);
  const QkvHeads heads = b.heads(il);
  const bool own_cache =
      hparams.kv_from_start < 0 || il < static_cast<std::size_t>(hparams.kv_from_start);
  Tensor* factors = hparams.layers[il].sliding ? nullptr : w.rope_factors;
  const auto split = [&](Tensor* of, std::int64_t count) {
    return g.reshape(of, {heads.size_q, count, b.tokens(), 1});
  };
  Qkv flat{};
  if (w.wqkv != nullptr) {
    flat = b.flat_qkv(x, heads, il);
  } else {
    flat.q = g.mul_mat(w.wq, x);
    if (own_cache) {
      flat.k = g.mul_mat(w.wk, x);
      flat.v = w.wv != nullptr ? g.mul_mat(w.wv, x) : flat.k;
    }
  }
  Qkv qkv{};
  qkv.q = g.rope(b.rms_norm(split(flat.q, heads.heads), w.attn_q_norm, il), positions, factors);
  if (own_cache) {
    Tensor* k = b.rms_norm(split(flat.k, heads.kv_heads), w.attn_k_norm, il);
    qkv.v = g.rms_norm(split(flat.v, heads.kv_heads));
    qkv.k = g.rope(k, positions, factors);
  }
  return qkv;
}

/// A dense network beside experts, which a router of its own chooses.
Tensor* mixture(GraphBuilder& b, Tensor* x, std::size_t il) {
  ggml::Ops& g = b.ops();
  const LayerWeights& w = b.layer(il);
  Tensor* dense = b.gated_ffn(b.rms_norm(x, w.ffn_norm, il), il, Scales::Used);
  dense = b.rms_norm(dense, w.ffn_post_norm_1, il);
  Tensor* routed = b.rms_norm(x, w.ffn_pre_norm_2, il);
  Tensor* logits = g.mul_mat(w.ffn_gate_inp, g.mul(g.scale(g.rms_norm(x)), w.ffn_gate_inp_s));
  routed = b.experts(routed, {.scales = Scales::Used, .logits = logits}, il);
  return g.add(dense, b.rms_norm(routed, w.ffn_post_norm_2, il));
}

}  // namespace

// src/models/gemma4.cpp.
void build_gemma4(GraphBuilder& b) {
  ggml::Ops& g = b.ops();
  Tensor* x = g.scale(b.embed_tokens());
  Tensor* positions = b.positions();
  const AttentionInputs inputs = b.attention_inputs();
  Tensor* out_rows = b.output_rows();
  Tensor* per_layer =
      b.weights().per_layer_token_embd == nullptr ? nullptr : per_layer_inputs(b, x);

  for (std::size_t il = 0; il < b.layer_count(); ++il) {
    const LayerWeights& w = b.layer(il);
    Tensor* residual = x;
    const Qkv qkv = queries_keys_values(b, b.rms_norm(x, w.attn_norm, il), positions, il);
    x = b.rms_norm(b.attention(inputs, qkv, il), w.attn_post_norm, il);
    residual = g.add(x, residual);
    x = w.ffn_gate_inp != nullptr
            ? mixture(b, residual, il)
            : b.gated_ffn(b.rms_norm(residual, w.ffn_norm, il), il, Scales::Used);
    x = g.add(b.rms_norm(x, w.ffn_post_norm), residual);
    if (per_layer != nullptr) {
      Tensor* gate = g.unary(g.mul_mat(w.per_layer_inp_gate, x));
      Tensor* own = g.mul_mat(w.per_layer_proj, g.mul(gate, input_of_layer(b, per_layer, il)));
      x = g.add(x, b.rms_norm(own, w.per_layer_post_norm, il));
    }
    if (w.out_scale != nullptr) x = g.mul(x, w.out_scale);
  }
  x = b.output_norm(x);
  b.keep(x);
  Tensor* logits = b.head(g.get_rows(x, out_rows));
  b.finish(b.hparams().final_softcap != 0 ? b.softcap(logits) : logits);
}

}  // namespace vramfit::llamacpp
