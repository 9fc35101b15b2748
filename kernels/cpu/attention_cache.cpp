#include <vector>

#include "kernels/cpu/attention_rows.h"
#include "kernels/cpu/codes.h"
#include "kernels/cpu/cpu_device.h"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

/// Where a sequence's position stands in the cache.
class Places {
 public:
  Places(const KvBlocks& cache, std::int64_t batch)
      : block_(cache.block()),
        blocks_(cache.table == nullptr ? 1 : cache.table->shape()[1]),
        table_(input<std::int32_t>(cache.table, batch * blocks_)) {}

  /// A row of all blocks' positions.
  std::int64_t operator()(std::int64_t b, std::int64_t position) const {
    require(position >= 0 && position < block_ * blocks_, "the KV cache is not that long");
    if (table_ == nullptr) return b * block_ + position;
    return table_[b * blocks_ + position / block_] * block_ + position % block_;
  }

 private:
  std::int64_t block_;
  std::int64_t blocks_;
  const std::int32_t* table_;
};

/// A position's head, of keys or of values, stored as they are or in 8 bits.
template <typename Element>
void store_head(const Element* from, const Tensor& to, const Tensor* scales, std::int64_t head,
                std::int64_t head_dim) {
  if (scales != nullptr) {
    scales->as<float>()[head] = quantize_row(from, head_dim, to, head * head_dim);
  } else {
    std::copy_n(from, head_dim, output<Element>(to, to.stored().elements()) + head * head_dim);
  }
}

template <typename Element>
void append(const KvCacheAppend& op) {
  const AttentionShape& s = op.shape;
  const KvBlocks& cache = op.cache;
  const QkvHeads<const Element> qkv(input<Element>(op.qkv, s.tokens() * s.qkv_width()), s);
  const Places places(cache, s.batch);
  const auto* starts = input<std::int32_t>(op.starts, s.batch);
  const auto* counts = input<std::int32_t>(op.counts, s.batch);
  for_each_head(s.batch, s.kv_heads, [&](std::int64_t b, std::int64_t head) {
    const std::int64_t count = counts == nullptr ? s.seq : counts[b];
    for (std::int64_t t = 0; t < count; ++t) {
      const std::int64_t place = places(b, (starts == nullptr ? 0 : starts[b]) + t);
      const std::int64_t to = place * s.kv_heads + head;
      store_head(qkv.keys(b, head)[t], cache.keys, cache.key_scales, to, s.head_dim);
      store_head(qkv.values(b, head)[t], cache.values, cache.value_scales, to, s.head_dim);
    }
  });
}

/// Element `i` of all that the tensor stores, without its scale.
template <typename Element>
Accumulator<Element> stored(const Tensor& tensor, std::int64_t i) {
  if (is_quantized(tensor.format())) return code_of(tensor, i);
  return tensor.as<const Element>()[i];
}

/// A head's vectors of the first `length` positions of a sequence, read back.
template <typename Element>
std::vector<Accumulator<Element>> gathered(const Tensor& tensor, const Tensor* scales,
                                           const Places& places, const AttentionShape& s,
                                           std::int64_t b, std::int64_t head, std::int64_t length) {
  std::vector<Accumulator<Element>> all;
  for (std::int64_t position = 0; position < length; ++position) {
    const std::int64_t at = places(b, position) * s.kv_heads + head;
    const float scale = scales == nullptr ? 1.0F : scales->as<float>()[at];
    for (std::int64_t i = 0; i < s.head_dim; ++i) {
      all.push_back(stored<Element>(tensor, at * s.head_dim + i) * scale);
    }
  }
  return all;
}

template <typename Element>
void decode(const AttentionDecode& op) {
  using Sum = Accumulator<Element>;
  const AttentionShape& s = op.shape;
  const KvBlocks& cache = op.cache;
  require_workspace(op.workspace, attention_decode_workspace_bytes(s, op.qkv.format()));
  const QkvHeads<const Element> qkv(input<Element>(op.qkv, s.tokens() * s.qkv_width()), s);
  const Places places(cache, s.batch);
  const auto* starts = input<std::int32_t>(op.starts, s.batch);
  const auto out = output<Element>(op.out, s.batch, s.q_width());
  for_each_head(s.batch, s.heads, [&](std::int64_t b, std::int64_t head) {
    const std::int64_t length = starts[b] + 1;
    const std::int64_t kv_head = kv_head_of(s, head);
    const auto all_keys =
        gathered<Element>(cache.keys, cache.key_scales, places, s, b, kv_head, length);
    const auto all_values =
        gathered<Element>(cache.values, cache.value_scales, places, s, b, kv_head, length);
    const Matrix<const Sum> keys{all_keys.data(), s.head_dim};
    const Matrix<const Sum> values{all_values.data(), s.head_dim};
    const Element* stored_query = qkv.queries(b, head)[0];
    const std::vector<Sum> query(stored_query, stored_query + s.head_dim);
    const Sum statistic = log_sum_exp<Sum>(query.data(), keys, length, s.head_dim);
    weighted_sum<Element>(
        out[b] + head * s.head_dim, values, length, s.head_dim, [&](std::int64_t at) {
          return std::exp(attention_score<Sum>(query.data(), keys[at], s.head_dim) - statistic);
        });
  });
}

}  // namespace

void CpuDevice::run(const KvCacheAppend& op) {
  with_element(op.qkv.format(), [&op](auto e) { append<decltype(e)>(op); });
}

void CpuDevice::run(const Advance& op) {
  const std::int64_t count = op.counts.shape().elements();
  auto* counts = output<std::int32_t>(op.counts, count);
  for (std::int64_t b = 0; b < count; ++b) counts[b] += static_cast<std::int32_t>(op.by);
}

void CpuDevice::run(const AttentionDecode& op) {
  const AttentionShape& s = op.shape;
  require(s.seq == 1, "attention_decode: one token a sequence");
  if (op.frequencies != nullptr) {
    run(RotaryEmbedding{op.qkv, s.seq, s.heads + s.kv_heads, s.head_dim, *op.frequencies,
                        &op.starts, false});
  }
  run(KvCacheAppend{s, op.qkv, op.cache, &op.starts, nullptr});
  with_element(op.qkv.format(), [&op](auto e) { decode<decltype(e)>(op); });
}

}  // namespace vramfit
