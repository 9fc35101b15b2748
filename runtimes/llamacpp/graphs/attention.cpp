#include "model/errors.h"
#include "runtimes/llamacpp/graphs/builder.h"

// Attention to a cache: build_attn of llama-graph.cpp, and what llama-kv-cache.cpp gives it.
namespace vramfit::llamacpp {

using ggml::Tensor;

namespace {

/// A layer's part of a cache, which it may lack.
Tensor* cached(Tensor* part, std::size_t il) {
  if (part != nullptr) return part;
  throw BadInput("layer " + std::to_string(il) +
                 " attends but has no cache; which layers slide, share one or are latent is wrong");
}

/// [size, heads, tokens] as [size, tokens, heads], and back.
constexpr std::array<std::size_t, ggml::kMaxDims> kHeadsOutside{0, 2, 1, 3};

}  // namespace

// build_attn_inp_kq_mask and build_input_*.
CacheInputs GraphBuilder::cache_inputs(const KvCache& cache) {
  CacheInputs inputs;
  inputs.cache = &cache;
  inputs.k_rows = ops_.input(ggml::kI64, {tokens(), 1, 1, 1});
  const std::int64_t values = cache.transposed ? widest_v(hparams()) : 1;
  inputs.v_rows = ops_.input(ggml::kI64, {tokens() * values, 1, 1, 1});
  inputs.mask = ops_.input(shape_.flash ? ggml::kF16 : ggml::kF32,
                           {cache.cells, tokens() / cache.streams, 1, cache.streams});
  const auto square = [this](std::int64_t n) {
    return n == 0 ? nullptr : ops_.input(ggml::kF32, {n, n, 1, 1});
  };
  inputs.rotation_k = square(cache.rotation_k);
  inputs.rotation_v = square(cache.rotation_v);
  return inputs;
}

AttentionInputs GraphBuilder::attention_inputs() {
  AttentionInputs inputs;
  inputs.base = cache_inputs(memory().base);
  if (memory().slides) inputs.sliding = cache_inputs(memory().sliding);
  return inputs;
}

// llama_mul_mat_hadamard.
Tensor* GraphBuilder::rotate(Tensor* x, Tensor* rotation) {
  if (x == nullptr || rotation == nullptr) return x;
  const std::int64_t n = rotation->ne[0];
  const ggml::Shape rows{n, x->elements() / n, 1, 1};
  Tensor* flat = ggml::contiguous(*x) ? ops_.reshape(x, rows) : ops_.cont(x, rows);
  return ops_.reshape(ops_.mul_mat(rotation, flat), x->ne);
}

// get_k: [head size, heads, cells, streams].
Tensor* GraphBuilder::cached_k(const KvCache& cache, std::size_t il) {
  Tensor* k = cached(cache.layers[il].k, il);
  const std::int64_t size = hparams().head_k_of(hparams().layers[il]);
  return ops_.view(k, {size, hparams().layers[il].kv_heads, cache.cells, cache.streams},
                   {k->type.row_size(size), k->nb[1], k->nb[2]}, 0);
}

// get_v: as keys, or [cells, heads, head size, streams].
Tensor* GraphBuilder::cached_v(const KvCache& cache, std::size_t il) {
  Tensor* v = cached(cache.layers[il].v, il);
  const std::int64_t size = hparams().head_v_of(hparams().layers[il]);
  const std::int64_t heads = hparams().layers[il].kv_heads;
  if (!cache.transposed) {
    return ops_.view(v, {size, heads, cache.cells, cache.streams},
                     {v->type.row_size(size), v->nb[1], v->nb[2]}, 0);
  }
  return ops_.view(v, {cache.cells, heads, size, cache.streams},
                   {v->type.row_size(cache.cells * size), v->type.row_size(cache.cells), v->nb[2]},
                   0);
}

// cpy_k: tokens' keys as rows of all streams.
Tensor* GraphBuilder::store_k(const KvCache& cache, Tensor* k, Tensor* rows, std::size_t il) {
  Tensor* to = cached(cache.layers[il].k, il);
  Tensor* from = ops_.view_2d(k, k->ne[0] * k->ne[1], k->ne[2], k->nb[2], 0);
  if (cache.streams > 1) to = ops_.reshape(to, {to->ne[0], cache.cells * cache.streams, 1, 1});
  return ops_.set_rows(to, from, rows);
}

// cpy_v: the same, or, transposed, each element as a row.
Tensor* GraphBuilder::store_v(const KvCache& cache, Tensor* v, Tensor* rows, std::size_t il) {
  Tensor* to = cached(cache.layers[il].v, il);
  if (!cache.transposed) {
    Tensor* from = ops_.view_2d(v, v->ne[0] * v->ne[1], v->ne[2], v->nb[2], 0);
    if (cache.streams > 1) to = ops_.reshape(to, {to->ne[0], cache.cells * cache.streams, 1, 1});
    return ops_.set_rows(to, from, rows);
  }
  const std::int64_t width = v->ne[0] * v->ne[1];
  const ggml::Shape flat{width, v->ne[2], 1, 1};
  const bool whole = v->type.row_size(width) == v->nb[2];
  Tensor* from = whole ? ops_.reshape(v, flat) : ops_.cont(v, flat);
  if (width < to->ne[0]) from = ops_.pad(from, to->ne[0] - width);
  to = ops_.reshape(to, {1, to->elements(), 1, 1});
  return ops_.set_rows(to, ops_.reshape(from, {1, from->elements(), 1, 1}), rows);
}

Tensor* GraphBuilder::attention(const AttentionInputs& inputs, const Qkv& qkv, std::size_t il) {
  Tensor* x = attention_heads(inputs, qkv, il);
  return product(layer(il).wo, layer(il).wo_s, layer(il).wo_b, x, last_is_precise());
}

// Whether layers slide decides which build_attn it is: they add to the graph in another order.
Tensor* GraphBuilder::attention_heads(const AttentionInputs& inputs, const Qkv& qkv,
                                      std::size_t il) {
  const bool slides = memory().slides;
  const CacheInputs& in = slides && hparams().layers[il].sliding ? inputs.sliding : inputs.base;
  Tensor* q = rotate(qkv.q, in.rotation_k);
  Tensor* k = rotate(qkv.k, in.rotation_k);
  Tensor* v = rotate(qkv.v, in.rotation_v);
  expand(q);
  for (Tensor* tensor : {slides ? k : v, slides ? v : k}) {
    if (tensor != nullptr) expand(tensor);
  }
  if (k != nullptr) expand(store_k(*in.cache, k, in.k_rows, il));
  if (v != nullptr) expand(store_v(*in.cache, v, in.v_rows, il));
  Tensor* x = attend({q, cached_k(*in.cache, il), cached_v(*in.cache, il)}, in.mask, nullptr, il);
  return rotate(x, in.rotation_v);
}

// build_attn of llm_graph_input_attn_k: values are the first part of what is cached as keys.
Tensor* GraphBuilder::latent_attention(const AttentionInputs& inputs, const Qkv& qkv, Tensor* wv_b,
                                       std::size_t il) {
  const CacheInputs& in = inputs.base;
  expand(qkv.q);
  expand(qkv.v);
  expand(qkv.k);
  expand(store_k(*in.cache, qkv.k, in.k_rows, il));
  Tensor* k = cached_k(*in.cache, il);
  Tensor* v =
      ops_.view(k, {qkv.v->ne[0], k->ne[1], k->ne[2], k->ne[3]}, {k->nb[1], k->nb[2], k->nb[3]}, 0);
  Tensor* x = attend({qkv.q, k, v}, in.mask, wv_b, il);
  return product(layer(il).wo, layer(il).wo_s, layer(il).wo_b, x);
}

// build_attn_mha.
Tensor* GraphBuilder::attend(const Qkv& qkv, Tensor* mask, Tensor* wv_b, std::size_t il) {
  const std::int64_t streams = qkv.k->ne[3];
  const std::int64_t rows = qkv.q->ne[2] / streams;
  const std::uint64_t stream = qkv.q->nb[2] * static_cast<std::uint64_t>(rows);
  Tensor* q = ops_.view(qkv.q, {qkv.q->ne[0], qkv.q->ne[1], rows, streams},
                        {qkv.q->nb[1], qkv.q->nb[2], stream}, 0);
  q = ops_.permute(q, kHeadsOutside);
  Tensor* k = ops_.permute(qkv.k, kHeadsOutside);
  Tensor* v = ops_.permute(qkv.v, kHeadsOutside);
  Tensor* x = nullptr;
  if (shape_.flash) {
    if (k->type == ggml::kF32) k = ops_.cast(k, ggml::kF16);
    if (v->type == ggml::kF32) v = ops_.cast(v, ggml::kF16);
    x = ops_.flash_attention(q, k, v, mask);
    if (layer(il).attn_sinks != nullptr) x->add_source(layer(il).attn_sinks);
    flash_nodes_.push_back({x, il});
    if (wv_b != nullptr) {
      x = ops_.mul_mat(wv_b, ops_.permute(x, kHeadsOutside));
      x = ops_.cont(ops_.permute(x, kHeadsOutside));
    }
    x = ops_.reshape(x, {x->ne[0] * x->ne[1], x->ne[2] * x->ne[3], 1, 1});
  } else {
    x = attend_in_steps({q, k, v}, mask, wv_b, il);
  }
  expand(x);
  return x;
}

// Without flash attention: scores as a tensor of their own. Values lie transposed, but for those
// that are a part of the keys, and where the cache was made before flash attention was given up.
Tensor* GraphBuilder::attend_in_steps(const Qkv& qkv, Tensor* mask, Tensor* wv_b, std::size_t il) {
  Tensor* scores = ops_.mul_mat(qkv.k, qkv.q);
  scores->precise = true;
  if (hparams().attn_softcap != 0) scores = softcap(scores);
  scores = ops_.soft_max(scores, mask);
  if (layer(il).attn_sinks != nullptr) scores->add_source(layer(il).attn_sinks);
  const bool transposed = qkv.v->nb[2] > qkv.v->nb[1];  // before heads went outside
  Tensor* v = transposed ? qkv.v : ops_.cont(ops_.transpose(qkv.v));
  Tensor* x = ops_.mul_mat(v, scores);
  if (wv_b != nullptr) x = ops_.mul_mat(wv_b, x);
  x = ops_.permute(x, kHeadsOutside);
  x = ops_.cont(x, {x->ne[0] * x->ne[1], x->ne[2] * x->ne[3], 1, 1});
  if (!model_.offload_kqv) scheduler_.assign(*x, ggml::cpu_of(model_.backends));
  return x;
}

}  // namespace vramfit::llamacpp
