#include "runtimes/llamacpp/graphs/builder.h"

namespace vramfit::llamacpp {

using ggml::BackendId;
using ggml::Tensor;

GraphBuilder::GraphBuilder(const GraphModel& model, const GraphShape& shape, ggml::Ops& ops,
                           ggml::Graph& graph, ggml::Scheduler& scheduler)
    : model_(model), shape_(shape), ops_(ops), graph_(graph), scheduler_(scheduler) {}

std::size_t GraphBuilder::layer_count() const {
  return static_cast<std::size_t>(hparams().run_layers());
}

// Tokens, or embeddings in their place, which are an input that a graph of tokens does not use.
Tensor* GraphBuilder::embed_tokens() {
  Tensor* token_ids = ops_.input(ggml::kI32, {tokens(), 1, 1, 1});
  Tensor* embedded = ops_.input(ggml::kF32, {hparams().embd, tokens(), 1, 1});
  Tensor* x = ops_.get_rows(weights().token_embd, token_ids);
  expand(x);
  expand(embedded);
  if (hparams().embedding_scale != 0) x = ops_.scale(x);
  expand(x);
  return x;
}

Tensor* GraphBuilder::positions() { return ops_.input(ggml::kI32, {tokens(), 1, 1, 1}); }

Tensor* GraphBuilder::output_rows() { return ops_.input(ggml::kI32, {shape_.outputs, 1, 1, 1}); }

Tensor* GraphBuilder::attention_scale() { return ops_.input(ggml::kF32, {1, 1, tokens(), 1}); }

// graph_get_cb: a norm stays on its layer's device, however its neighbours are placed.
Tensor* GraphBuilder::norm(Tensor* x, Tensor* weight, Tensor* bias, NormKind kind, std::size_t il) {
  x = kind == NormKind::Rms ? ops_.rms_norm(x) : ops_.norm(x);
  const bool stays = tokens() < 32 || model_.residence.fully_offloaded;
  if (il != kNoLayer && stays) {
    const BackendId device = model_.residence.layers[il];
    if (ggml::supports_op(model_.backends, device, *x)) scheduler_.assign(*x, device);
  }
  x = ops_.mul(x, weight);
  if (bias != nullptr) x = ops_.add(x, bias);
  return x;
}

// build_lora_mm and what follows it.
Tensor* GraphBuilder::product(Tensor* weight, Tensor* scale, Tensor* bias, Tensor* x,
                              bool precise) {
  x = ops_.mul_mat(weight, x);
  x->precise = precise;
  if (scale != nullptr) x = ops_.mul(x, scale);
  return bias == nullptr ? x : ops_.add(x, bias);
}

// The exceptions of build_attn and build_ffn.
bool GraphBuilder::last_is_precise() const { return hparams().arch == "glm4moe"; }

QkvHeads GraphBuilder::heads(std::size_t il) const {
  const Layer& layer = hparams().layers[il];
  const std::int64_t size = hparams().head_v_of(layer);
  return {size, layer.heads, size, size, layer.kv_heads};
}

Qkv GraphBuilder::qkv(Tensor* x, const QkvHeads& heads, std::size_t il) {
  const LayerWeights& w = layer(il);
  if (w.wqkv == nullptr) {
    const Qkv flat = flat_qkv(x, heads, il);
    return {ops_.reshape(flat.q, {heads.size_q, heads.heads, tokens(), 1}),
            ops_.reshape(flat.k, {heads.size_k, heads.kv_heads, tokens(), 1}),
            ops_.reshape(flat.v, {heads.size_v, heads.kv_heads, tokens(), 1})};
  }
  Tensor* all = product(w.wqkv, w.wqkv_s, w.wqkv_b, x);
  if (w.wqkv_b == nullptr && w.wq_b != nullptr && w.wk_b != nullptr && w.wv_b != nullptr) {
    all = ops_.add(all, ops_.concat(ops_.concat(w.wq_b, w.wk_b, 0), w.wv_b, 0));
  }
  std::int64_t before = 0;
  const auto part = [&](std::int64_t size, std::int64_t count) {
    const ggml::Type type = all->type;
    const std::uint64_t whole = all->nb[1] * static_cast<std::uint64_t>(tokens());
    Tensor* view = ops_.view(all, {size, count, tokens(), 1},
                             {type.row_size(size), all->nb[1], whole}, type.row_size(before));
    before += size * count;
    return view;
  };
  Qkv parts{};
  parts.q = part(heads.size_q, heads.heads);
  parts.k = part(heads.size_k, heads.kv_heads);
  parts.v = part(heads.size_v, heads.kv_heads);
  return parts;
}

Qkv GraphBuilder::flat_qkv(Tensor* x, const QkvHeads& heads, std::size_t il) {
  const LayerWeights& w = layer(il);
  if (w.wqkv == nullptr) {
    return {product(w.wq, w.wq_s, w.wq_b, x), product(w.wk, w.wk_s, w.wk_b, x),
            product(w.wv, w.wv_s, w.wv_b, x)};
  }
  Tensor* all = product(w.wqkv, w.wqkv_s, w.wqkv_b, x);
  std::int64_t before = 0;
  const auto part = [&](std::int64_t size) {
    Tensor* view = ops_.view_2d(all, size, tokens(), all->nb[1], all->type.row_size(before));
    before += size;
    return ops_.cont(view);
  };
  Qkv parts{};
  parts.q = part(heads.size_q * heads.heads);
  parts.k = part(heads.size_k * heads.kv_heads);
  parts.v = part(heads.size_v * heads.kv_heads);
  return parts;
}

Tensor* GraphBuilder::ffn(const Ffn& weights, Tensor* x, Scales scales) {
  const auto scaled = [&](Tensor* y, Tensor* scale) {
    return scales == Scales::Used && scale != nullptr ? ops_.mul(y, scale) : y;
  };
  const auto times = [&](const std::array<Tensor*, 3>& of) {
    return scaled(product(of[0], nullptr, of[1], x), of[2]);
  };
  Tensor* up = times(weights.up);
  x = ops_.glu_split(times(weights.gate), up);
  return scaled(product(weights.down[0], nullptr, weights.down[1], x, last_is_precise()),
                weights.down[2]);
}

Tensor* GraphBuilder::gated_ffn(Tensor* x, std::size_t il, Scales scales) {
  const LayerWeights& w = layer(il);
  return ffn({{w.ffn_up, w.ffn_up_b, w.ffn_up_s},
              {w.ffn_gate, w.ffn_gate_b, w.ffn_gate_s},
              {w.ffn_down, w.ffn_down_b, w.ffn_down_s}},
             x, scales);
}

Tensor* GraphBuilder::plain_ffn(Tensor* x, std::size_t il) {
  const LayerWeights& w = layer(il);
  return product(w.ffn_down, nullptr, w.ffn_down_b,
                 ops_.unary(product(w.ffn_up, nullptr, w.ffn_up_b, x)));
}

// The embedding is an output even where nobody asks for it (llm_graph_result::set_outputs).
Tensor* GraphBuilder::head(Tensor* x) {
  keep(x);
  return product(weights().output, weights().output_s, weights().output_b, x);
}

Tensor* GraphBuilder::softcap(Tensor* logits) { return ops_.scale(ops_.unary(ops_.scale(logits))); }

void GraphBuilder::finish(Tensor* logits) {
  keep(logits);
  expand(logits);
}

}  // namespace vramfit::llamacpp
