#include <gtest/gtest.h>

#include "model/ops/workspaces.h"
#include "tests/model/transformer/contract_device.h"

namespace vramfit {

void ContractDevice::check(const RotaryEmbedding& op) {
  const Shape& shape = op.qkv.shape();
  expect(op.qkv, {shape[0], shape[1]});
  EXPECT_EQ(shape[0] % op.seq, 0);
  EXPECT_LT(op.rotated_heads * op.head_dim, shape[1]) << "v's heads stay as they are";
  EXPECT_EQ(op.frequencies.pairs * 2, op.head_dim);
  expect_integers(op.starts, shape[0] / op.seq);
}

void ContractDevice::check(const AttentionForward& op) {
  const AttentionShape& s = op.shape;
  const bool flash = op.form == AttentionForm::Flash;
  expect(op.qkv, {s.tokens(), s.qkv_width()});
  expect(op.out, {s.tokens(), s.q_width()});
  if (op.log_sum_exp != nullptr) {
    EXPECT_TRUE(flash);
    expect_sums(*op.log_sum_exp, {s.batch, s.heads, s.seq});
  }
  expect_optional(op.probabilities, !flash, {s.batch, s.heads, s.seq, s.seq});
  expect_room(op.workspace, attention_forward_workspace_bytes(op.form, s, dtype_));
  expect_gemm_workspace(op.gemm_workspace);
}

void ContractDevice::check(const AttentionBackward& op) {
  const AttentionShape& s = op.shape;
  const bool flash = op.form == AttentionForm::Flash;
  expect(op.qkv, {s.tokens(), s.qkv_width()});
  expect(op.out, {s.tokens(), s.q_width()});
  ASSERT_EQ(op.log_sum_exp != nullptr, flash);
  if (flash) expect_sums(*op.log_sum_exp, {s.batch, s.heads, s.seq});
  expect_optional(op.probabilities, !flash, {s.batch, s.heads, s.seq, s.seq});
  expect(op.dout, {s.tokens(), s.q_width()});
  expect(op.dqkv, {s.tokens(), s.qkv_width()});
  expect_optional(op.dscores, !flash, {s.batch, s.heads, s.seq, s.seq});
  expect_room(op.workspace, attention_backward_workspace_bytes(op.form, s, dtype_));
  expect_gemm_workspace(op.gemm_workspace);
}

void ContractDevice::expect_cache(const AttentionShape& s, const KvBlocks& cache) {
  const std::int64_t blocks = cache.keys.shape()[0];
  const Shape shape = {blocks, cache.block(), s.kv_heads, s.head_dim};
  const Shape scales = {blocks, cache.block(), s.kv_heads};
  const Format format = cache.keys.format();
  for (const Tensor* tensor : {&cache.keys, &cache.values}) expect_tensor(*tensor, format, shape);
  for (const Tensor* tensor : {cache.key_scales, cache.value_scales}) {
    ASSERT_EQ(tensor != nullptr, is_quantized(format));
    if (tensor != nullptr) expect_tensor(*tensor, DType::Fp32, scales);
  }
  if (cache.table == nullptr) {
    EXPECT_EQ(blocks, s.batch);
  } else {
    expect_tensor(*cache.table, DType::Int32, {s.batch, cache.table->shape()[1]});
  }
}

void ContractDevice::expect_integers(const Tensor* tensor, std::int64_t count) {
  if (tensor != nullptr) expect_tensor(*tensor, DType::Int32, {count});
}

void ContractDevice::check(const KvCacheAppend& op) {
  expect(op.qkv, {op.shape.tokens(), op.shape.qkv_width()});
  expect_cache(op.shape, op.cache);
  expect_integers(op.starts, op.shape.batch);
  expect_integers(op.counts, op.shape.batch);
}

void ContractDevice::check(const Advance& op) { expect_integers(&op.counts, op.counts.shape()[0]); }

void ContractDevice::check(const AttentionDecode& op) {
  EXPECT_EQ(op.shape.seq, 1);
  EXPECT_TRUE(op.frequencies == nullptr || op.frequencies->pairs * 2 == op.shape.head_dim);
  expect(op.qkv, {op.shape.batch, op.shape.qkv_width()});
  expect_cache(op.shape, op.cache);
  expect_integers(&op.starts, op.shape.batch);
  expect(op.out, {op.shape.batch, op.shape.q_width()});
  expect_room(op.workspace, attention_decode_workspace_bytes(op.shape, dtype_));
}

}  // namespace vramfit
