#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/cpu/matrix.h"
#include "model/config/rope.h"
#include "model/ops/attention_ops.h"

namespace vramfit {

/// One head's rows within (N, (a + 2k)·d): row t is token t of sequence b.
template <typename Element>
class QkvHeads {
 public:
  QkvHeads(Element* qkv, const AttentionShape& shape) : qkv_(qkv), shape_(shape) {
    require(shape.head_dim <= kMaxHeadDim, "attention heads are wider than kMaxHeadDim");
    require(shape.heads % shape.kv_heads == 0, "query heads do not divide into key/value heads");
  }

  Matrix<Element> queries(std::int64_t b, std::int64_t head) const { return at(b, head); }
  Matrix<Element> keys(std::int64_t b, std::int64_t kv_head) const {
    return at(b, shape_.heads + kv_head);
  }
  Matrix<Element> values(std::int64_t b, std::int64_t kv_head) const {
    return at(b, shape_.heads + shape_.kv_heads + kv_head);
  }

 private:
  Matrix<Element> at(std::int64_t b, std::int64_t slot) const {
    const std::int64_t width = shape_.qkv_width();
    return {qkv_ + b * shape_.seq * width + slot * shape_.head_dim, width};
  }

  Element* qkv_;
  AttentionShape shape_;
};

/// The key/value head that query head `head` reads.
inline std::int64_t kv_head_of(const AttentionShape& shape, std::int64_t head) {
  return head / (shape.heads / shape.kv_heads);
}

template <typename Element>
Accumulator<Element> attention_score(const Element* query, const Element* key,
                                     std::int64_t head_dim) {
  return dot(query, 1, key, 1, head_dim) / std::sqrt(static_cast<Accumulator<Element>>(head_dim));
}

/// log Σ exp(score) over the first `count` keys.
template <typename Element, typename Sum = Accumulator<Element>>
Sum log_sum_exp(const Element* query, Matrix<const Element> keys, std::int64_t count,
                std::int64_t head_dim) {
  Sum largest = -std::numeric_limits<Sum>::infinity();
  for (std::int64_t s = 0; s < count; ++s) {
    largest = std::max(largest, attention_score<Element>(query, keys[s], head_dim));
  }
  Sum sum = 0;
  for (std::int64_t s = 0; s < count; ++s) {
    sum += std::exp(attention_score<Element>(query, keys[s], head_dim) - largest);
  }
  return largest + std::log(sum);
}

/// out = Σ probability(s) · values[s] over s below `count`.
template <typename Element, typename Value, typename Probability>
void weighted_sum(Element* out, Matrix<const Value> values, std::int64_t count,
                  std::int64_t head_dim, const Probability& probability) {
  std::array<Accumulator<Element>, static_cast<std::size_t>(kMaxHeadDim)> sums{};
  for (std::int64_t s = 0; s < count; ++s) {
    const Accumulator<Element> p = probability(s);
    for (std::int64_t i = 0; i < head_dim; ++i) {
      sums[static_cast<std::size_t>(i)] += p * static_cast<Accumulator<Element>>(values[s][i]);
    }
  }
  for (std::int64_t i = 0; i < head_dim; ++i) {
    out[i] = static_cast<Element>(sums[static_cast<std::size_t>(i)]);
  }
}

/// Calls `body(b, head)` for each sequence of the batch and each of `heads`.
template <typename Body>
void for_each_head(std::int64_t batch, std::int64_t heads, const Body& body) {
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t head = 0; head < heads; ++head) body(b, head);
  }
}

}  // namespace vramfit
