#include "runtimes/vllm/alive.h"

#include <algorithm>

#include "runtimes/pytorch/torch/memory/caching_allocator.h"
#include "runtimes/vllm/elements.h"
#include "runtimes/vllm/rank_experts.h"
#include "runtimes/vllm/storage.h"

namespace vramfit::vllm {
namespace {

/// What is projected of a token.
std::int64_t projected(const Layer& layer, std::int64_t ranks) {
  const std::int64_t kv = std::max<std::int64_t>(layer.kv_heads / ranks, 1) * layer.head_dim;
  return layer.q_width() / ranks + 2 * kv;
}

/// Behind its attention: what was projected, and what the layer before handed on.
void add_handed_on(Alive& alive, const Shape& shape, const Layer& layer, std::int64_t ranks) {
  if (shape.hands_on) alive.insert(alive.end(), 2, projected(layer, ranks));
}

}  // namespace

std::int64_t allocated(std::int64_t bytes) {
  using Torch = pytorch::CachingAllocator;
  if (bytes < static_cast<std::int64_t>(Torch::kMinLargeAlloc)) return bytes;
  const std::int64_t segment = padded_to(bytes, static_cast<std::int64_t>(Torch::kSmallBuffer));
  return segment - bytes > static_cast<std::int64_t>(Torch::kSmallSize) ? bytes : segment;
}

std::int64_t allocated(const Alive& alive, std::int64_t tokens, std::int64_t own) {
  std::int64_t all = 0;
  for (const std::int64_t width : alive) all += allocated(tokens * width * own);
  return all;
}

std::array<Alive, 2> compiled(const Shape& shape, const Layer& layer, std::int64_t ranks) {
  const std::int64_t hidden = shape.hidden;
  const std::int64_t q = layer.q_width() / ranks;
  const std::int64_t kv = std::max<std::int64_t>(layer.kv_heads / ranks, 1) * layer.head_dim;
  const std::int64_t ffn = layer.ffn / ranks;
  Alive mlp = {q, hidden, hidden, ffn};
  if (shape.gated) {
    mlp.push_back(2 * ffn);
  } else {
    mlp.push_back(hidden);
    if (shape.normed_twice) mlp.push_back(hidden);
  }
  return {mlp, {q, hidden, hidden, q + 2 * kv, q, kv, q}};
}

std::array<Alive, 2> eager(const Shape& shape, const Layer& layer, std::int64_t ranks,
                           bool in_bytes) {
  const std::int64_t hidden = shape.hidden;
  const std::int64_t q = layer.q_width() / ranks;
  const std::int64_t kv = std::max<std::int64_t>(layer.kv_heads / ranks, 1) * layer.head_dim;
  const std::int64_t ffn = layer.ffn / ranks;
  Alive mlp = {hidden, hidden, hidden, (shape.gated ? 2 : 1) * ffn, ffn};
  mlp.insert(mlp.end(), static_cast<std::size_t>(shape.outlived), hidden);
  // What comes out of down, and what all ranks' sum is.
  if (ranks > 1 && shape.keeps_up()) mlp.push_back(hidden);
  if (shape.rotates_apart) {
    // apply_rotary_pos_emb: of queries both products, their sum and what is turned around; cosines
    // and sines. OLMo 2's are in fp32, and no norm is before its attention.
    const bool normed = shape.qk_norm != QkNorm::None;
    const std::int64_t turned = normed ? 2 * q : q;
    Alive turning = {hidden, hidden, q + 2 * kv, turned, turned, turned, turned};
    if (normed) {
      turning.insert(turning.end(), {q, kv});
    } else {
      turning.push_back(hidden);
    }
    for (Alive* place : {&mlp, &turning}) {
      place->insert(place->end(), 2, (normed ? 2 : 1) * shape.rotary_dim);
    }
    return {mlp, turning};
  }
  Alive attention = {hidden, hidden, hidden, q + 2 * kv, q};
  if (shape.qk_norm == QkNorm::Bare) {
    // Queries, as they were made fp32, and their norm.
    return {mlp, {hidden, hidden, q + 2 * kv, q, 2 * q, 2 * q}};
  }
  attention.insert(attention.end(), static_cast<std::size_t>(shape.outlived_attending), hidden);
  if (shape.qk_norm != QkNorm::None || shape.rotates_elsewhere) {
    attention.insert(attention.end(), {q, kv});
  }
  if (in_bytes) attention.push_back((q + kWord) / 2);  // what comes out, with a scale a token
  if (shape.qk_norm == QkNorm::WholeInFp32) {
    // Of queries what they are in fp32, their norm, and that by its weight; and keys.
    constexpr std::int64_t kTwice = 2;
    attention = {hidden, hidden, q + 2 * kv, kTwice * q, kTwice * q, kTwice * q, kTwice * kv};
  }
  if (shape.hands_on) attention.push_back(projected(layer, ranks));
  add_handed_on(mlp, shape, layer, ranks);
  return {mlp, attention};
}

Alive latent(const Shape& shape, const Layer& layer, std::int64_t ranks) {
  const Latent& of = shape.latent;
  const std::int64_t heads = layer.heads / ranks;
  const std::int64_t down = of.kv_rank + of.rope;
  return {
      shape.hidden, shape.hidden, heads * (of.nope + of.rope), heads * of.value, of.q_rank + down,
      of.q_rank,    down};
}

bool in_mxfp4(const Shape& shape, const Options& options) {
  return quantization_of(shape, options).find("mxfp4") != std::string::npos;
}

bool by_triton_kernels(const Shape& shape, const Options& options, int sm) {
  return is_hopper(sm) && in_mxfp4(shape, options);
}

Alive shared_experts(const Shape& shape, const Layer& layer, const Options& options) {
  const std::int64_t shared = experts_of_rank(shape, options).shared;
  if (shared == 0 || !options.eager) return {};
  const std::int64_t up = (shape.gated ? 2 : 1) * shared;
  Alive alive = {shape.hidden, shape.hidden, shape.hidden, shape.hidden, up, shared};
  add_handed_on(alive, shape, layer, options.tensor_parallel);
  return alive;
}

Alive mixed(const Shape& shape, const Layer& layer, const Options& options, int sm) {
  if (by_triton_kernels(shape, options, sm)) {
    // OAITritonExperts: beside, of the second product what each expert makes of a token.
    const std::int64_t hidden = shape.hidden;
    return {hidden, hidden, hidden, hidden, shape.experts.used * hidden};
  }
  if (in_mxfp4(shape, options)) {
    // MarlinExperts: what goes in is padded, and what comes out.
    const std::int64_t padded = padded_to(shape.hidden, kMarlinsHidden);
    return {shape.hidden, shape.hidden, shape.hidden, padded, padded};
  }
  const std::int64_t ranks = options.tensor_parallel;
  const std::int64_t own = own_bytes(options);
  const RankExperts rank = experts_of_rank(shape, options);
  const std::int64_t routed =
      rank.steps * 3 * kWord * shape.experts.used + kWord * shape.experts.count;
  Alive alive = {routed / own};
  if (options.eager) {
    // What went in and the residual stream, what the layer before handed on, what comes out; and
    // what the experts have made that every token passes, and the sum of both.
    alive.insert(alive.end(), shape.experts.shared > 0 ? 6 : 4, shape.hidden);
    add_handed_on(alive, shape, layer, ranks);
  } else {
    const std::int64_t q =
        layer.keeps == Keeps::Latent ? layer.heads * shape.latent.value : layer.q_width();
    alive.push_back(q / ranks);
    alive.insert(alive.end(), 4, shape.hidden);
    if (shape.experts.shared > 0) {
      alive.push_back((shape.gated ? 2 : 1) * rank.shared);
      alive.push_back(rank.shared);
    }
  }
  // Of replicas, what all of them hand in, and what comes of it (all-gather, reduce-scatter).
  if (rank.steps > 1) alive.insert(alive.end(), 2, rank.steps * shape.hidden);
  return alive;
}

}  // namespace vramfit::vllm
