#include "runtimes/llamacpp/graphs/architectures.h"

namespace vramfit::llamacpp {
namespace {

using ggml::Tensor;

// build_shortconv_block: a gated convolution over a few tokens, the last of which are kept.
Tensor* short_convolution(GraphBuilder& b, const StateInputs& states, Tensor* x, std::size_t il) {
  ggml::Ops& g = b.ops();
  const LayerWeights& w = b.layer(il);
  const std::int64_t embd = b.hparams().embd;
  const std::int64_t kept = b.hparams().shortconv_cache - 1;
  const std::int64_t n = b.tokens_per_sequence();
  const std::int64_t sequences = b.shape().sequences;
  Tensor* bcx = g.mul_mat(w.shortconv_in, g.reshape(x, {x->ne[0], n, sequences, 1}));
  const std::int64_t size = bcx->ne[0] / 3;
  const auto third = [&](std::int64_t i) {
    const std::uint64_t whole = bcx->nb[2] * static_cast<std::uint64_t>(sequences);
    return g.view(bcx, {size, n, sequences, 1}, {bcx->nb[1], bcx->nb[2], whole},
                  bcx->type.row_size(i * size));
  };
  Tensor* gated = g.transpose(g.mul(third(0), third(2)));

  Tensor* cache = b.memory().r[il];
  Tensor* before = b.state(states, cache, embd_r(b.hparams()));
  gated = g.concat(g.reshape(before, {kept, embd, sequences, 1}), gated, 0);
  const std::uint64_t whole = gated->nb[2] * static_cast<std::uint64_t>(sequences);
  Tensor* last = g.view(gated, {kept, embd, sequences, 1}, {gated->nb[1], gated->nb[2], whole},
                        gated->type.row_size(gated->ne[0] - kept));
  b.expand(g.cpy(last, g.view_2d(cache, kept * embd, sequences, cache->nb[1], 0)));

  Tensor* y = g.mul(third(1), g.ssm_conv(gated, w.shortconv_conv));
  y = g.mul_mat(w.shortconv_out, y);
  return g.reshape(y, {y->ne[0], n * sequences, 1, 1});
}

}  // namespace

// src/models/lfm2.cpp and lfm2moe.cpp: layers of attention among layers of convolutions.
void build_lfm2(GraphBuilder& b) {
  ggml::Ops& g = b.ops();
  const Hparams& hparams = b.hparams();
  Tensor* x = b.embed_tokens();
  const StateInputs states = b.state_inputs();
  const AttentionInputs inputs = b.attention_inputs();
  Tensor* positions = b.positions();
  Tensor* out_rows = b.output_rows();

  for (std::size_t il = 0; il < b.layer_count(); ++il) {
    const LayerWeights& w = b.layer(il);
    Tensor* residual = x;
    x = b.rms_norm(x, w.attn_norm, il);
    if (hparams.layers[il].recurrent) {
      x = short_convolution(b, states, x, il);
    } else {
      Qkv qkv = b.qkv(x, il);
      qkv.q = g.rope(b.rms_norm(qkv.q, w.attn_q_norm, il), positions, nullptr);
      qkv.k = g.rope(b.rms_norm(qkv.k, w.attn_k_norm, il), positions, nullptr);
      x = b.attention(inputs, qkv, il);
    }
    if (b.is_last(il)) {
      x = g.get_rows(x, out_rows);
      residual = g.get_rows(residual, out_rows);
    }
    residual = g.add(residual, x);
    x = b.rms_norm(residual, w.ffn_norm, il);
    x = w.ffn_gate_inp == nullptr ? b.gated_ffn(x, il)
                                  : b.experts(x,
                                              {.gating = hparams.gating,
                                               .scale = hparams.expert_weights_scale,
                                               .with_selection_bias = true},
                                              il);
    x = g.add(residual, x);
  }
  b.finish(b.head(b.output_norm(x)));
}

}  // namespace vramfit::llamacpp
