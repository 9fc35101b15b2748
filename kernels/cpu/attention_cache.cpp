#include "kernels/cpu/attention_rows.h"
#include "kernels/cpu/cpu_device.h"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

/// (B, positions, k, d) as a matrix with a row per position of each sequence.
template <typename Element>
Matrix<Element> rows_of(Element* cache, const AttentionShape& shape) {
  return {cache, shape.kv_width()};
}

template <typename Element>
void append(const KvCacheAppend& op) {
  const AttentionShape& shape = op.shape;
  const std::int64_t positions = op.keys.shape()[1];
  const std::int64_t elements = shape.batch * positions * shape.kv_width();
  require(op.first_position + shape.seq <= positions, "the KV cache has no room for the tokens");
  const QkvHeads<const Element> qkv(input<Element>(op.qkv, shape.tokens() * shape.qkv_width()),
                                    shape);
  const auto keys = rows_of(output<Element>(op.keys, elements), shape);
  const auto values = rows_of(output<Element>(op.values, elements), shape);
  for_each_head(shape.batch, shape.kv_heads, [&](std::int64_t b, std::int64_t head) {
    for (std::int64_t t = 0; t < shape.seq; ++t) {
      const std::int64_t row = b * positions + op.first_position + t;
      const std::int64_t column = head * shape.head_dim;
      std::copy_n(qkv.keys(b, head)[t], shape.head_dim, keys[row] + column);
      std::copy_n(qkv.values(b, head)[t], shape.head_dim, values[row] + column);
    }
  });
}

template <typename Element>
void decode(const AttentionDecode& op) {
  const AttentionShape& shape = op.shape;
  const std::int64_t positions = op.keys.shape()[1];
  const std::int64_t elements = shape.batch * positions * shape.kv_width();
  require(shape.seq == 1, "decoding attends for one token a sequence");
  require(op.length >= 1 && op.length <= positions, "the KV cache is not that long");
  require_workspace(op.workspace, attention_decode_workspace_bytes(shape, op.qkv.format()));
  const QkvHeads<const Element> qkv(input<Element>(op.qkv, shape.tokens() * shape.qkv_width()),
                                    shape);
  const auto all_keys = rows_of(input<Element>(op.keys, elements), shape);
  const auto all_values = rows_of(input<Element>(op.values, elements), shape);
  const auto out = output<Element>(op.out, shape.batch, shape.q_width());
  for_each_head(shape.batch, shape.heads, [&](std::int64_t b, std::int64_t head) {
    const std::int64_t column = kv_head_of(shape, head) * shape.head_dim;
    const Matrix<const Element> keys{all_keys[b * positions] + column, all_keys.step};
    const Matrix<const Element> values{all_values[b * positions] + column, all_values.step};
    const Element* query = qkv.queries(b, head)[0];
    const auto statistic = log_sum_exp<Element>(query, keys, op.length, shape.head_dim);
    weighted_sum<Element>(
        out[b] + head * shape.head_dim, values, op.length, shape.head_dim, [&](std::int64_t s) {
          return std::exp(attention_score<Element>(query, keys[s], shape.head_dim) - statistic);
        });
  });
}

}  // namespace

void CpuDevice::run(const KvCacheAppend& op) {
  with_element(op.qkv.format(), [&op](auto e) { append<decltype(e)>(op); });
}

void CpuDevice::run(const AttentionDecode& op) {
  with_element(op.qkv.format(), [&op](auto e) { decode<decltype(e)>(op); });
}

}  // namespace vramfit
