#include "tests/model/transformer/contract_device.h"

#include <gtest/gtest.h>

#include "model/ops/workspaces.h"
#include "model/optimizer/dynamic_codes.h"

namespace vramfit {

void ContractDevice::expect_tensor(const Tensor& tensor, Format format, const Shape& shape) {
  ASSERT_TRUE(tensor) << "nothing behind it any more";
  EXPECT_EQ(tensor.shape(), shape) << tensor.name().text();
  EXPECT_STREQ(tensor.format().name(), format.name()) << tensor.name().text();
  touched(tensor);
}

void ContractDevice::expect_room(const Tensor& workspace, std::uint64_t bytes) {
  ASSERT_TRUE(workspace);
  EXPECT_GE(workspace.bytes(), bytes) << workspace.name().text();
  EXPECT_LT(workspace.bytes(), bytes + 4) << workspace.name().text() << " is larger than it says";
  touched(workspace);
}

void ContractDevice::expect(const Tensor& tensor, const Shape& shape) {
  expect_tensor(tensor, dtype_, shape);
}

void ContractDevice::expect_optional(const Tensor* tensor, bool present, const Shape& shape) {
  ASSERT_EQ(tensor != nullptr, present);
  if (present) expect(*tensor, shape);
}

void ContractDevice::expect_sums(const Tensor& tensor, const Shape& shape) {
  expect_tensor(tensor, accumulation_dtype(dtype_), shape);
}

void ContractDevice::expect_gemm_workspace(const Tensor& tensor) {
  expect_room(tensor, gemm_workspace_bytes(arch()));
}

void ContractDevice::upload(const Tensor& to, const void* from, std::uint64_t bytes) {
  ASSERT_TRUE(to);
  EXPECT_NE(from, nullptr);
  EXPECT_LE(bytes, to.bytes());
}

void ContractDevice::download(void* to, const Tensor& from, std::uint64_t bytes) {
  ASSERT_TRUE(from);
  EXPECT_NE(to, nullptr);
  EXPECT_LE(bytes, from.bytes());
}

void ContractDevice::expect_linear(const Tensor& x, const Tensor& weight,
                                   const QuantizedOperands& quantized, const InputNorm* norm) {
  const bool few = x.shape()[0] <= kFusedRows;
  if (norm != nullptr) {
    EXPECT_LE(x.shape()[0], normed_rows(quantized.quantizes_x))
        << "more rows are normalised before";
    expect(norm->weight, {weight.shape()[1]});
    expect_optional(norm->bias, norm->kind == NormKind::LayerNorm, {weight.shape()[1]});
  }
  EXPECT_FALSE(quantized.quantizes_x && (!few || quantized.x_scales != nullptr));
  const Shape rows_in = {x.shape()[0], weight.shape()[1]};
  const Format format = weight.format();
  const bool plain = format == Format(dtype_);
  const bool of_codes = !plain && x.format() == format;
  expect_tensor(x, of_codes ? format : Format(dtype_), rows_in);
  expect_tensor(weight, format, weight.shape());
  ASSERT_EQ(quantized.x_scales != nullptr, of_codes);
  if (of_codes) expect_tensor(*quantized.x_scales, DType::Fp32, {rows_in[0]});
  ASSERT_EQ(quantized.weight_scales != nullptr, has_row_scales(format));
  if (has_row_scales(format)) {
    expect_tensor(*quantized.weight_scales, DType::Fp32, {weight.stored()[0]});
  }
  EXPECT_FALSE(of_codes && few) << "few rows are quantised by the linear";
  const bool written = !plain && !of_codes && x.shape()[0] > kDirectRows;
  ASSERT_EQ(quantized.dequantized != nullptr, written);
  if (!written) return;
  const std::int64_t at_a_time = dequantized_rows(weight.stored()[0], rows_in[1], dtype_);
  expect(*quantized.dequantized, {at_a_time, rows_in[1]});
}

void ContractDevice::check(const Quantize& op) {
  expect_tensor(op.from, dtype_, {op.from.shape()[0], op.to.shape()[1]});
  expect_tensor(op.to, op.to.format(), op.to.shape());
  EXPECT_NE(op.to.format(), Format(dtype_));
  EXPECT_GE(op.first_row, 0);
  EXPECT_LE(op.first_row + op.from.stored()[0], op.to.stored()[0]);
  ASSERT_EQ(op.scales != nullptr, has_row_scales(op.to.format()));
  if (op.scales != nullptr) expect_tensor(*op.scales, DType::Fp32, {op.to.stored()[0]});
}

void ContractDevice::check(const FillNormal& op) {
  ASSERT_TRUE(op.tensor);
  touched(op.tensor);
  EXPECT_GE(op.deviation, 0.0F);
}

void ContractDevice::check(const FillTokens& op) {
  expect_tensor(op.tokens, DType::Int32, op.tokens.shape());
  EXPECT_EQ(op.tokens.shape().rank(), 2U);
  EXPECT_GE(op.vocab, 1);
}

void ContractDevice::check(const EmbeddingForward& op) {
  const Shape& tokens = op.tokens.shape();
  const std::int64_t width = op.table.shape()[1];
  expect_tensor(op.tokens, DType::Int32, {tokens[0], tokens[1]});
  expect(op.table, {op.table.shape()[0], width});
  expect(op.x, {tokens[0] * tokens[1], width});
  if (op.positions == nullptr) return;
  expect(*op.positions, {op.positions->shape()[0], width});
  expect_integers(op.starts, tokens[0]);
}

void ContractDevice::check(const EmbeddingBackward& op) {
  const std::int64_t tokens = op.tokens.shape().elements();
  const std::int64_t vocab = op.dtable.shape()[0];
  const std::int64_t width = op.dtable.shape()[1];
  expect_tensor(op.tokens, DType::Int32, op.tokens.shape());
  expect(op.dx, {tokens, width});
  expect(op.dtable, {vocab, width});
  if (op.dpositions != nullptr) expect(*op.dpositions, {op.dpositions->shape()[0], width});
  expect_room(op.workspace, embedding_backward_workspace_bytes(tokens, vocab));
}

void ContractDevice::check(const NormForward& op) {
  const std::int64_t rows = op.x.shape()[0];
  const std::int64_t width = op.x.shape()[1];
  const bool layer_norm = op.kind == NormKind::LayerNorm;
  expect(op.x, {rows, width});
  expect(op.weight, {width});
  expect_optional(op.bias, layer_norm, {width});
  expect(op.y, {rows, width});
  EXPECT_NE(&op.x, &op.y);
  expect_largest(op.largest);
  if (op.rstd != nullptr) expect_sums(*op.rstd, {rows});
  EXPECT_EQ(op.mean != nullptr, layer_norm && op.rstd != nullptr);
  if (op.mean != nullptr) expect_sums(*op.mean, {rows});
}

void ContractDevice::check(const NormBackward& op) {
  const std::int64_t rows = op.x.shape()[0];
  const std::int64_t width = op.x.shape()[1];
  const bool layer_norm = op.kind == NormKind::LayerNorm;
  expect(op.x, {rows, width});
  expect_sums(op.rstd, {rows});
  ASSERT_EQ(op.mean != nullptr, layer_norm);
  if (layer_norm) expect_sums(*op.mean, {rows});
  expect(op.weight, {width});
  expect_optional(op.bias, layer_norm, {width});
  expect(op.dy, {rows, width});
  expect(op.dx, {rows, width});
  const bool trained = op.dweight != nullptr;
  ASSERT_EQ(op.partials != nullptr, trained);
  expect_optional(op.dbias, layer_norm && trained, {width});
  if (!trained) return;
  expect(*op.dweight, {width});
  expect_sums(*op.partials, norm_partials_shape(op.kind, rows, width));
}

void ContractDevice::check(const HeadNormForward& op) {
  const AttentionShape& s = op.shape;
  expect(op.qkv, {s.tokens(), s.qkv_width()});
  expect(op.q_weight, {s.head_dim});
  expect(op.k_weight, {s.head_dim});
  ASSERT_EQ(op.x != nullptr, op.rstd != nullptr);
  if (op.x == nullptr) return;
  expect(*op.x, {s.tokens(), s.q_width() + s.kv_width()});
  expect_sums(*op.rstd, {s.tokens(), s.heads + s.kv_heads});
}

void ContractDevice::check(const HeadNormBackward& op) {
  const AttentionShape& s = op.shape;
  expect(op.x, {s.tokens(), s.q_width() + s.kv_width()});
  expect_sums(op.rstd, {s.tokens(), s.heads + s.kv_heads});
  expect(op.q_weight, {s.head_dim});
  expect(op.k_weight, {s.head_dim});
  expect(op.dqkv, {s.tokens(), s.qkv_width()});
  const bool trained = op.dq_weight != nullptr;
  ASSERT_EQ(op.partials != nullptr, trained);
  expect_optional(op.dk_weight, trained, {s.head_dim});
  if (!trained) return;
  expect(*op.dq_weight, {s.head_dim});
  expect_sums(*op.partials, head_norm_partials_shape(s.tokens(), s.head_dim));
}

void ContractDevice::check(const LinearForward& op) {
  const std::int64_t rows = op.x.shape()[0];
  const std::int64_t out = op.weight.stored()[0];
  expect_linear(op.x, op.weight, op.quantized, op.norm);
  if (op.bias != nullptr) expect(*op.bias, {out});
  if (op.residual != nullptr) expect(*op.residual, {rows, out});
  expect(op.y, {rows, out});
  expect_gemm_workspace(op.workspace);
}

void ContractDevice::check(const LinearBackwardInput& op) {
  const std::int64_t rows = op.dy.shape()[0];
  const Shape& weight = op.weight.shape();
  const Format format = op.weight.format();
  expect(op.dy, {rows, weight[0]});
  expect_tensor(op.weight, format, weight);
  expect(op.dx, {rows, weight[1]});
  expect_gemm_workspace(op.workspace);
  ASSERT_EQ(op.weight_scales != nullptr, has_row_scales(format));
  if (has_row_scales(format)) expect_tensor(*op.weight_scales, DType::Fp32, {weight[0]});
  ASSERT_EQ(op.dequantized != nullptr, is_quantized(format));
  if (op.dequantized == nullptr) return;
  expect(*op.dequantized, {weight[0], dequantized_columns(weight[0], weight[1], dtype_)});
}

void ContractDevice::check(const LinearBackwardWeight& op) {
  const std::int64_t rows = op.x.shape()[0];
  const std::int64_t in = op.x.shape()[1];
  const std::int64_t out = op.dy.shape()[1];
  expect(op.x, {rows, in});
  expect(op.dy, {rows, out});
  expect(op.dweight, {out, in});
  if (op.dbias != nullptr) expect(*op.dbias, {out});
  ASSERT_EQ(op.partials != nullptr, op.dbias != nullptr);
  if (op.partials != nullptr) expect_sums(*op.partials, bias_partials_shape(rows, out));
  expect_gemm_workspace(op.workspace);
}

void ContractDevice::check(const MlpUpForward& op) {
  const std::int64_t rows = op.x.shape()[0];
  const std::int64_t up = op.weight.shape()[0];
  expect_linear(op.x, op.weight, op.quantized, op.norm);
  if (op.bias != nullptr) expect(*op.bias, {up});
  expect(op.pre, {rows, up});
  expect(op.act, {rows, op.kind == ActivationKind::SwiGlu ? up / 2 : up});
  expect_gemm_workspace(op.workspace);
}

void ContractDevice::expect_adapters(const AdaptersOfLinear& adapters, const Tensor& u,
                                     const Tensor& b, const Tensor& y) {
  const std::int64_t rows = y.shape()[0];
  const std::int64_t rank = b.shape()[1];
  expect(u, {rows, adapters.count() * rank});
  expect(b, {adapters.width(), rank});
  expect(y, {rows, y.shape()[1]});
  std::int64_t end = 0;
  for (const AdaptedColumns& part : adapters.columns) {
    EXPECT_GE(part.first, end) << "columns overlap";
    end = part.first + part.width;
  }
  EXPECT_LE(end, y.shape()[1]);
}

void ContractDevice::check(const LoraForward& op) {
  expect_adapters(op.adapters, op.u, op.b, op.y);
  expect_gemm_workspace(op.workspace);
}

void ContractDevice::check(const LoraBackwardInput& op) {
  expect_adapters(op.adapters, op.du, op.b, op.dy);
  expect_gemm_workspace(op.workspace);
}

void ContractDevice::check(const LoraBackwardWeight& op) {
  expect_adapters(op.adapters, op.u, op.db, op.dy);
  expect_gemm_workspace(op.workspace);
}

void ContractDevice::check(const Activate& op) {
  const Shape& act = op.act.shape();
  expect(op.pre, {act[0], (op.kind == ActivationKind::SwiGlu ? 2 : 1) * act[1]});
  expect(op.act, {act[0], act[1]});
  expect_largest(op.largest);
  expect_largest(op.pre_largest);
}

void ContractDevice::check(const ActivateBackward& op) {
  const Shape& act = op.act.shape();
  expect(op.pre, {act[0], (op.kind == ActivationKind::SwiGlu ? 2 : 1) * act[1]});
  expect(op.act, {act[0], act[1]});
  expect_largest(op.largest);
  ASSERT_EQ(op.codes != nullptr, op.codes_scale != nullptr);
  if (op.codes == nullptr) return;
  expect_tensor(*op.codes, DType::Fp8, op.pre.shape());
  expect_scale(*op.codes_scale);
}

void ContractDevice::check(const HeadLoss& op) {
  const std::int64_t tokens = op.hidden.shape()[0];
  const std::int64_t vocab = op.weight.shape()[0];
  const std::int64_t width = op.weight.shape()[1];
  expect(op.hidden, {tokens, width});
  expect(op.weight, {vocab, width});
  expect_tensor(op.targets, DType::Int32, op.targets.shape());
  EXPECT_EQ(op.targets.shape().elements(), tokens);
  EXPECT_EQ(op.chunk, head_chunk_tokens(tokens, op.weight.stored()[0], dtype_));
  EXPECT_GT(op.loss_weight, 0.0F);
  EXPECT_LE(op.loss_weight, 1.0F / static_cast<float>(tokens));
  EXPECT_EQ(op.scaler != nullptr, dtype_ == DType::Fp16);
  if (op.scaler != nullptr) expect_tensor(*op.scaler, DType::Fp32, {LossScale::kValues});
  expect_sums(op.loss, {1});
  const bool trained = op.dweight != nullptr;
  expect_optional(op.dweight, trained, {vocab, width});
  if (trained) {
    EXPECT_EQ(op.dweight->stored(), op.weight.stored());
  }
  expect(op.logits, {op.chunk, op.weight.stored()[0]});
  ASSERT_EQ(op.dweight_sum != nullptr, trained && is_16_bit(dtype_) && op.chunk < tokens);
  if (op.dweight_sum != nullptr) expect_sums(*op.dweight_sum, op.weight.stored());
  expect_gemm_workspace(op.gemm_workspace);
}

void ContractDevice::check(const LastToken& op) {
  const Shape& x = op.x.shape();
  EXPECT_EQ(x[0] % op.seq, 0);
  expect(op.x, {x[0], x[1]});
  expect(op.out, {x[0] / op.seq, x[1]});
  expect_integers(op.counts, x[0] / op.seq);
}

void ContractDevice::check(const Argmax& op) {
  const Shape& logits = op.logits.shape();
  expect(op.logits, {logits[0], logits[1]});
  EXPECT_LE(op.vocab, logits[1]);
  expect_tensor(op.tokens, DType::Int32, {logits[0], 1});
}

void ContractDevice::check(const FindOverflow& op) {
  EXPECT_EQ(dtype_, DType::Fp16);
  expect_room(op.table, optimizer_table_bytes(op.updates));
  touched(op.scaler);
  for (const ParameterUpdate& update : op.updates) touched(*update.gradient);
}

void ContractDevice::check(const OptimizerStep& op) {
  for (const ParameterUpdate& update : op.updates) {
    const int steps = ++optimizer_steps_[update.parameter->name().text()];
    EXPECT_EQ(op.step, steps) << "the first step initializes the states";
  }
  EXPECT_EQ(op.scaler != nullptr, dtype_ == DType::Fp16);
  expect_room(op.table, optimizer_table_bytes(op.updates));
  const std::uint64_t sums = factor_sums_bytes(op.kind, op.updates);
  ASSERT_EQ(op.sums != nullptr, sums > 0);
  if (op.sums != nullptr) expect_room(*op.sums, sums);
  const std::uint64_t slots = host_slots_bytes(op.kind, op.updates);
  ASSERT_EQ(op.slots != nullptr, slots > 0);
  if (op.slots != nullptr) expect_room(*op.slots, slots);
  for (const ParameterUpdate& update : op.updates) {
    const Shape& shape = update.parameter->shape();
    expect(*update.parameter, shape);
    expect(*update.gradient, shape);
    EXPECT_EQ(update.gradient->stored(), update.parameter->stored());
    ASSERT_EQ(update.master != nullptr, op.kind.master);
    ASSERT_EQ(update.momentum != nullptr, op.kind.keeps_momentum());
    ASSERT_EQ(update.variance != nullptr, op.kind.keeps_variance());
    if (update.master != nullptr) expect_tensor(*update.master, DType::Fp32, shape);
    const Format moments = op.kind.moment_format(dtype_);
    const Shape& stored = update.parameter->stored();
    if (update.momentum != nullptr) {
      expect_tensor(*update.momentum, moments, shape);
      EXPECT_EQ(update.momentum->stored(), stored);
    }
    if (update.variance != nullptr) {
      expect_tensor(*update.variance, moments, variance_shape(op.kind, shape));
      EXPECT_EQ(update.variance->stored(), variance_shape(op.kind, stored));
    }
    ASSERT_EQ(update.scales != nullptr, op.kind.has_scales());
    if (update.scales != nullptr) {
      const std::int64_t blocks =
          (update.parameter->stored().elements() + kDynamicBlock - 1) / kDynamicBlock;
      expect_tensor(*update.scales, DType::Fp32, {op.kind.moments, blocks});
    }
    EXPECT_EQ(update.decays, shape.rank() == 2);
  }
}

}  // namespace vramfit
