#include "model/errors.h"
#include "runtimes/llamacpp/graphs/architectures.h"

namespace vramfit::llamacpp {
namespace {

using ggml::Tensor;

/// Sizes of a gated delta net.
struct DeltaNet {
  std::int64_t head_k;
  std::int64_t heads_k;
  std::int64_t head_v;
  std::int64_t heads_v;
  std::int64_t tokens;  ///< of a sequence
  std::int64_t sequences;

  explicit DeltaNet(const GraphBuilder& b)
      : head_k(b.hparams().ssm_state),
        heads_k(b.hparams().ssm_groups),
        head_v(b.hparams().ssm_inner / b.hparams().ssm_dt_rank),
        heads_v(b.hparams().ssm_dt_rank),
        tokens(b.tokens_per_sequence()),
        sequences(b.shape().sequences) {}

  std::int64_t values_a_key() const { return heads_v / heads_k; }
};

/// Dimensions [from, from + size) of each row of `x`.
Tensor* columns(ggml::Ops& g, Tensor* x, std::int64_t from, std::int64_t size) {
  return g.view(x, {size, x->ne[1], x->ne[2], x->ne[3]}, {x->nb[1], x->nb[2], x->nb[3]},
                x->type.row_size(from));
}

// build_layer_attn: queries and a gate for what attention gives are one product.
Tensor* gated_attention(GraphBuilder& b, const AttentionInputs& inputs, Tensor* x,
                        Tensor* positions, std::size_t il) {
  ggml::Ops& g = b.ops();
  const LayerWeights& w = b.layer(il);
  QkvHeads heads = b.heads(il);
  const std::int64_t size = heads.size_q;
  heads.size_q *= 2;
  Qkv qkv = b.flat_qkv(x, heads, il);
  Tensor* both = g.reshape(qkv.q, {heads.size_q, heads.heads, b.tokens(), 1});
  Tensor* gate = columns(g, both, size, size);
  qkv.q = b.rms_norm(columns(g, both, 0, size), w.attn_q_norm, il);
  qkv.k = g.reshape(qkv.k, {size, heads.kv_heads, b.tokens(), 1});
  qkv.v = g.reshape(qkv.v, {size, heads.kv_heads, b.tokens(), 1});
  qkv.k = b.rms_norm(qkv.k, w.attn_k_norm, il);
  qkv.q = g.rope(qkv.q, positions, nullptr);
  qkv.k = g.rope(qkv.k, positions, nullptr);
  x = b.attention_heads(inputs, qkv, il);
  gate = g.sigmoid(g.cont(gate, {size * heads.heads, b.tokens(), 1, 1}));
  return g.mul_mat(w.wo, g.mul(x, gate));
}

/// What a convolution takes, [channels, tokens, sequences], and the gate of what comes out.
struct Qkvz {
  Tensor* qkv;
  Tensor* z;
};

// build_qkvz: of two products, or of one whose rows are sorted by heads of keys.
Qkvz queries_keys_values_gate(GraphBuilder& b, const DeltaNet& net, Tensor* x, std::size_t il) {
  ggml::Ops& g = b.ops();
  const LayerWeights& w = b.layer(il);
  if (w.wqkv != nullptr) {
    Tensor* qkv = g.mul_mat(w.wqkv, x);
    return {g.reshape(qkv, {qkv->ne[0], net.tokens, net.sequences, 1}), g.mul_mat(w.wqkv_gate, x)};
  }
  const std::int64_t values = net.head_v * net.values_a_key();
  const std::int64_t row = 2 * (net.head_k + values);
  Tensor* all = g.reshape(g.mul_mat(w.ssm_in, x), {row, net.heads_k, net.tokens, net.sequences});
  Tensor* z = g.cont(columns(g, all, 2 * net.head_k + values, values));
  const auto flat = [&](std::int64_t from, std::int64_t size) {
    return g.cont(columns(g, all, from, size), {size * net.heads_k, net.tokens, net.sequences, 1});
  };
  Tensor* qk = g.concat(flat(0, net.head_k), flat(net.head_k, net.head_k), 0);
  return {g.concat(qk, flat(2 * net.head_k, values), 0), z};
}

// build_conv_state: what the convolution has seen before, in front of this batch's tokens.
Tensor* with_state(GraphBuilder& b, const StateInputs& states, Tensor* qkv, std::size_t il) {
  ggml::Ops& g = b.ops();
  Tensor* cache = b.memory().r[il];
  const std::int64_t kept = b.hparams().ssm_conv - 1;
  const std::int64_t channels = qkv->ne[0];
  const std::int64_t sequences = b.shape().sequences;
  Tensor* before = b.state(states, cache, embd_r(b.hparams()));
  before = g.reshape(before, {kept, channels, sequences, 1});
  Tensor* x = g.concat(before, g.transpose(qkv), 0);
  const std::uint64_t whole = x->nb[2] * static_cast<std::uint64_t>(sequences);
  Tensor* last = g.view(x, {kept, channels, sequences, 1}, {x->nb[1], x->nb[2], whole},
                        x->type.row_size(x->ne[0] - kept));
  b.expand(g.cpy(last, g.view_2d(cache, kept * channels, sequences, cache->nb[1], 0)));
  return x;
}

// build_recurrent_attn and build_delta_net_fused: outputs of tokens, and the states behind them.
Tensor* delta_net(GraphBuilder& b, const DeltaNet& net, const Qkv& qkv, Tensor* gate, Tensor* beta,
                  Tensor* state, std::size_t il) {
  ggml::Ops& g = b.ops();
  Tensor* all = g.gated_delta_net(qkv.q, qkv.k, qkv.v, gate, beta, state);
  const auto part = [&](ggml::Shape ne, std::uint64_t from) {
    std::array<std::uint64_t, 3> strides{};
    std::uint64_t stride = all->type.bytes;
    for (std::size_t i = 0; i < 3; ++i) {
      stride *= static_cast<std::uint64_t>(ne[i]);
      strides[i] = stride;
    }
    return g.view(all, ne, strides, from);
  };
  Tensor* out = part({net.head_v, net.heads_v, net.tokens, net.sequences}, 0);
  Tensor* after = part({net.head_v, net.head_v, net.heads_v, net.sequences}, bytes(*out));
  Tensor* cache = b.memory().s[il];
  b.expand(g.cpy(after, g.view_2d(cache, embd_s(b.hparams()), net.sequences, cache->nb[1], 0)));
  return out;
}

// build_gdn_l2_norm.
Tensor* l2_norm(ggml::Ops& g, Tensor* x) { return g.scale(g.rms_norm(x)); }

// Each head of keys once for every head of values that it has.
Tensor* repeat_heads(ggml::Ops& g, const DeltaNet& net, Tensor* x) {
  if (net.heads_k == net.heads_v) return x;
  const std::int64_t tokens = net.tokens * net.sequences;
  x = g.reshape(x, {net.head_k, 1, net.heads_k, tokens});
  x = g.repeat(x, {net.head_k, net.values_a_key(), net.heads_k, tokens});
  return g.reshape(x, {net.head_k, net.heads_v, net.tokens, net.sequences});
}

// build_layer_attn_linear.
Tensor* linear_attention(GraphBuilder& b, const StateInputs& states, Tensor* x, std::size_t il) {
  ggml::Ops& g = b.ops();
  const LayerWeights& w = b.layer(il);
  const DeltaNet net(b);
  const Qkvz qkvz = queries_keys_values_gate(b, net, x, il);

  const std::int64_t values = net.values_a_key();
  Tensor* ba = g.reshape(g.mul_mat(w.ssm_beta_alpha, x),
                         {2 * values, net.heads_k, net.tokens, net.sequences});
  Tensor* beta = g.sigmoid(g.cont(columns(g, ba, 0, values)));
  Tensor* alpha =
      g.cont(columns(g, ba, values, values), {net.heads_v, net.tokens, net.sequences, 1});
  Tensor* gate = g.mul(g.unary(g.add(alpha, w.ssm_dt)), w.ssm_a);
  const ggml::Shape one_a_head{1, net.heads_v, net.tokens, net.sequences};
  beta = g.reshape(beta, one_a_head);
  gate = g.reshape(gate, one_a_head);

  Tensor* conv = with_state(b, states, qkvz.qkv, il);
  Tensor* state = b.state(states, b.memory().s[il], embd_s(b.hparams()));
  state = g.reshape(state, {net.head_v, net.head_v, net.heads_v, net.sequences});
  Tensor* mixed = g.unary(g.ssm_conv(conv, w.ssm_conv1d));
  const std::uint64_t row =
      mixed->type.row_size(2 * net.head_k * net.heads_k + net.head_v * net.heads_v);
  const auto part = [&](std::int64_t size, std::int64_t heads, std::int64_t from) {
    return g.view(mixed, {size, heads, net.tokens, net.sequences},
                  {mixed->type.row_size(size), row, row * static_cast<std::uint64_t>(net.tokens)},
                  mixed->type.row_size(from));
  };
  const std::int64_t keys = net.head_k * net.heads_k;
  Qkv qkv{};
  qkv.q = repeat_heads(g, net, l2_norm(g, part(net.head_k, net.heads_k, 0)));
  qkv.k = repeat_heads(g, net, l2_norm(g, part(net.head_k, net.heads_k, keys)));
  qkv.v = part(net.head_v, net.heads_v, 2 * keys);
  Tensor* out = delta_net(b, net, qkv, gate, beta, state, il);

  Tensor* z = g.reshape(qkvz.z, {net.head_v, net.heads_v, net.tokens, net.sequences});
  out = g.mul(b.rms_norm(out, w.ssm_norm, il), g.unary(z));
  out = g.reshape(out, {net.head_v * net.heads_v, net.tokens, net.sequences, 1});
  return g.reshape(g.mul_mat(w.ssm_out, out), {b.hparams().embd, b.tokens(), 1, 1});
}

// build_layer_ffn: what experts and, behind a gate, a shared one say.
Tensor* mixture_with_shared(GraphBuilder& b, Tensor* x, std::size_t il) {
  ggml::Ops& g = b.ops();
  const LayerWeights& w = b.layer(il);
  if (w.ffn_gate_inp == nullptr) return b.gated_ffn(x, il);
  Tensor* routed =
      b.experts(x, {.scale = b.hparams().expert_weights_scale, .scales = Scales::Used}, il);
  if (w.ffn_up_shexp == nullptr) return routed;
  Tensor* shared = b.shared_experts(x, il, Scales::Used);
  return g.add(routed, g.mul(shared, g.sigmoid(g.mul_mat(w.ffn_gate_inp_shexp, x))));
}

}  // namespace

// src/models/qwen3next.cpp: gated delta nets, and every few layers attention.
void build_qwen3next(GraphBuilder& b) {
  ggml::Ops& g = b.ops();
  if (b.hparams().ssm_dt_rank < 1 || b.hparams().ssm_groups < 1) {
    throw BadInput("ssm.time_step_rank, ssm.group_count: a delta net has 1 or more of both");
  }
  Tensor* x = b.embed_tokens();
  const StateInputs states = b.state_inputs();
  const AttentionInputs inputs = b.attention_inputs();
  Tensor* positions = b.positions();
  Tensor* out_rows = b.output_rows();

  for (std::size_t il = 0; il < b.layer_count(); ++il) {
    const LayerWeights& w = b.layer(il);
    Tensor* residual = x;
    x = b.rms_norm(x, w.attn_norm, il);
    b.expand(x);
    x = b.hparams().layers[il].recurrent ? linear_attention(b, states, x, il)
                                         : gated_attention(b, inputs, x, positions, il);
    residual = g.add(x, residual);
    x = mixture_with_shared(b, b.rms_norm(residual, w.attn_post_norm, il), il);
    x = g.add(x, residual);
  }
  x = b.output_norm(x);
  b.keep(x);
  b.finish(b.head(g.get_rows(x, out_rows)));
}

}  // namespace vramfit::llamacpp
