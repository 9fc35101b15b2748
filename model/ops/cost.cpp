#include "model/ops/cost.h"

#include <algorithm>

namespace vramfit {
namespace {

std::uint64_t bytes(const Tensor& tensor) { return tensor.bytes(); }
std::uint64_t bytes(const Tensor* tensor) { return tensor == nullptr ? 0 : tensor->bytes(); }

std::uint64_t bytes(const InputNorm* norm) {
  return norm == nullptr ? 0 : bytes(norm->weight) + bytes(norm->bias);
}

/// Of a result that is written, or read and written where it is added to.
std::uint64_t bytes_to(const Tensor& tensor, bool accumulate) {
  return (accumulate ? 2 : 1) * tensor.bytes();
}

std::uint64_t bytes_to(const Tensor* tensor, bool accumulate) {
  return tensor == nullptr ? 0 : bytes_to(*tensor, accumulate);
}

/// Of `elements` of a tensor.
std::uint64_t bytes_of(const Tensor& tensor, std::int64_t elements) {
  return tensor.format().bytes(elements);
}

/// Of a product of `rows` rows with a weight or its transpose.
double product(std::int64_t rows, const Tensor& weight) {
  return 2 * static_cast<double>(rows) * static_cast<double>(weight.stored().elements());
}

/// Of so many heads' keys and values, with their scales.
std::uint64_t cache_bytes(const KvBlocks& cache, const AttentionShape& s, std::int64_t heads) {
  const std::uint64_t scales =
      cache.key_scales == nullptr ? 0 : bytes_of(*cache.key_scales, 2 * heads);
  return bytes_of(cache.keys, 2 * heads * s.head_dim) + scales;
}

/// Of one product of (T × d) and (d × T) a head, or of (T × T) and (T × d), its causal half.
double attention_product(const AttentionShape& s) {
  return static_cast<double>(s.batch * s.heads * s.head_dim) * static_cast<double>(s.seq) *
         static_cast<double>(s.seq);
}

}  // namespace

std::string OpCost::label() const {
  std::string text = op;
  std::string of = tensor;
  const std::string weight = ".weight";
  if (of.ends_with(weight)) of.resize(of.size() - weight.size());
  return of.empty() ? text : text + ":" + of;
}

OpCost cost(const FillNormal& op) { return {"fill_normal", "", bytes(op.tensor)}; }
OpCost cost(const FillTokens& op) { return {"fill_tokens", "", bytes(op.tokens)}; }

OpCost cost(const Quantize& op) {
  const std::int64_t elements = op.from.stored().elements();
  return {"quantize", op.to.name().base(), bytes(op.from) + bytes_of(op.to, elements)};
}

OpCost cost(const FindLargest& op) {
  return {"find_largest", op.from.name().base(), bytes(op.from)};
}

OpCost cost(const EncodeTensor& op) {
  return {"encode", op.from.name().base(), bytes(op.from) + bytes(op.codes) + bytes(op.transposed)};
}

OpCost cost(const EmbeddingForward& op) {
  const std::uint64_t positions =
      op.positions == nullptr ? 0 : bytes_of(*op.positions, op.tokens.shape()[1] * op.x.shape()[1]);
  const std::int64_t rows = std::min(op.tokens.shape().elements(), op.table.shape()[0]);
  return {"embedding_forward", "",
          bytes(op.tokens) + bytes_of(op.table, rows * op.x.shape()[1]) + positions + bytes(op.x)};
}

OpCost cost(const EmbeddingBackward& op) {
  return {"embedding_backward", "",
          bytes(op.tokens) + bytes(op.dx) + bytes_to(op.dtable, op.accumulate_table) +
              bytes_to(op.dpositions, op.accumulate_positions)};
}

OpCost cost(const NormForward& op) {
  return {"norm_forward", op.weight.name().base(),
          bytes(op.x) + bytes(op.weight) + bytes(op.bias) + bytes(op.y) + bytes(op.rstd) +
              bytes(op.mean)};
}

OpCost cost(const NormBackward& op) {
  return {"norm_backward", op.weight.name().base(),
          bytes(op.x) + bytes(op.rstd) + bytes(op.mean) + bytes(op.weight) + bytes(op.bias) +
              2 * bytes(op.dy) + bytes_to(op.dx, op.accumulate_dx) +
              bytes_to(op.dweight, op.accumulate_dweight) +
              bytes_to(op.dbias, op.accumulate_dbias)};
}

OpCost cost(const HeadNormForward& op) {
  const std::uint64_t heads =
      bytes_of(op.qkv, op.shape.tokens() * (op.shape.q_width() + op.shape.kv_width()));
  return {"head_norm_forward", "",
          2 * heads + bytes(op.q_weight) + bytes(op.k_weight) + bytes(op.x) + bytes(op.rstd)};
}

OpCost cost(const HeadNormBackward& op) {
  return {"head_norm_backward", "",
          3 * bytes(op.x) + bytes(op.rstd) + bytes(op.q_weight) + bytes(op.k_weight) +
              bytes_to(op.dq_weight, op.accumulate_dq_weight) +
              bytes_to(op.dk_weight, op.accumulate_dk_weight)};
}

OpCost cost(const RotaryEmbedding& op) {
  const std::int64_t rotated = op.qkv.shape()[0] * op.rotated_heads * op.head_dim;
  return {op.backward ? "rotary_backward" : "rotary_forward", "", 2 * bytes_of(op.qkv, rotated)};
}

OpCost cost(const LinearForward& op) {
  return {"linear_forward", op.weight.name().base(),
          bytes(op.x) + bytes(op.weight) + bytes(op.bias) + bytes(op.residual) + bytes(op.y) +
              bytes(op.norm),
          product(op.x.shape()[0], op.weight)};
}

OpCost cost(const LinearBackwardInput& op) {
  return {"linear_backward_input", op.weight.name().base(),
          bytes(op.dy) + bytes(op.weight) + bytes_to(op.dx, op.accumulate),
          product(op.dy.shape()[0], op.weight)};
}

OpCost cost(const LinearBackwardWeight& op) {
  return {"linear_backward_weight", op.dweight.name().base(),
          bytes(op.x) + bytes(op.dy) + bytes_to(op.dweight, op.accumulate_dweight) +
              bytes_to(op.dbias, op.accumulate_dbias),
          product(op.x.shape()[0], op.dweight)};
}

OpCost cost(const CodesProduct& op) {
  constexpr const char* kNames[] = {"linear_forward", "linear_backward_input",
                                    "linear_backward_weight"};
  return {kNames[static_cast<int>(op.pass)], op.weight.name().base(),
          bytes(op.a) + bytes(op.b) + bytes(op.bias) + bytes(op.residual) +
              bytes_to(op.to, op.accumulate),
          product(op.a.shape()[0], op.b)};
}

OpCost cost(const BiasBackward& op) {
  return {"bias_backward", op.dbias.name().base(),
          bytes(op.dy) + bytes_to(op.dbias, op.accumulate)};
}

// Of dy and y only the columns that adapters stand behind.
OpCost cost(const LoraForward& op) {
  const std::int64_t added = op.u.shape()[0] * op.adapters.width();
  return {"lora_forward", op.b.name().base(), bytes(op.u) + bytes(op.b) + 2 * bytes_of(op.y, added),
          product(op.u.shape()[0], op.b)};
}

OpCost cost(const LoraBackwardInput& op) {
  const std::int64_t read = op.dy.shape()[0] * op.adapters.width();
  return {"lora_backward_input", op.b.name().base(),
          bytes_of(op.dy, read) + bytes(op.b) + bytes(op.du), product(op.dy.shape()[0], op.b)};
}

OpCost cost(const LoraBackwardWeight& op) {
  const std::int64_t read = op.dy.shape()[0] * op.adapters.width();
  return {"lora_backward_weight", op.db.name().base(),
          bytes(op.u) + bytes_of(op.dy, read) + bytes_to(op.db, op.accumulate),
          product(op.dy.shape()[0], op.db)};
}

OpCost cost(const MlpUpForward& op) {
  return {"mlp_up_forward", "",
          bytes(op.x) + bytes(op.weight) + bytes(op.bias) + bytes(op.pre) + bytes(op.act) +
              bytes(op.norm),
          product(op.x.shape()[0], op.weight)};
}

OpCost cost(const Activate& op) { return {"activate", "", bytes(op.pre) + bytes(op.act)}; }

OpCost cost(const ActivateBackward& op) {
  const std::uint64_t read = op.codes == nullptr ? bytes(op.pre) : bytes(op.codes);
  return {"activate_backward", "", read + bytes(op.pre) + 2 * bytes(op.act)};
}

// Scores, and their product with V.
OpCost cost(const AttentionForward& op) {
  return {"attention_forward", "",
          bytes(op.qkv) + bytes(op.out) + bytes(op.log_sum_exp) + bytes(op.probabilities),
          2 * attention_product(op.shape)};
}

// dV, dP, dQ and dK; Flash computes the scores again.
OpCost cost(const AttentionBackward& op) {
  const int products = op.form == AttentionForm::Flash ? 5 : 4;
  return {"attention_backward", "",
          bytes(op.qkv) + bytes(op.out) + bytes(op.dout) + bytes(op.dqkv) + bytes(op.log_sum_exp) +
              bytes(op.probabilities),
          products * attention_product(op.shape)};
}

OpCost cost(const KvCacheAppend& op) {
  const std::int64_t appended = op.shape.tokens() * op.shape.kv_heads;
  return {"kv_cache_append", "",
          bytes_of(op.qkv, 2 * appended * op.shape.head_dim) +
              cache_bytes(op.cache, op.shape, appended)};
}

OpCost cost(const Advance& op) { return {"advance", "", 2 * bytes(op.counts)}; }

// Lengths are the device's to know: a sequence has at most so many positions, of which all but the
// newest are read, and that one is written.
OpCost cost(const AttentionDecode& op) {
  const AttentionShape& s = op.shape;
  const std::int64_t length = op.cache.positions();
  const std::int64_t rotated =
      op.frequencies == nullptr ? 0 : s.batch * (s.q_width() + s.kv_width());
  const auto scores = static_cast<double>(s.batch * s.heads * length);
  return {"attention_decode", "",
          cache_bytes(op.cache, s, s.batch * length * s.kv_heads) + bytes(op.qkv) +
              bytes_of(op.qkv, rotated) + bytes(op.out),
          2 * 2 * scores * static_cast<double>(s.head_dim)};
}

// Logits of a chunk need not leave the chip, in principle.
OpCost cost(const HeadLoss& op) {
  return {"head_loss", "",
          2 * bytes(op.hidden) + bytes(op.weight) + bytes(op.targets) +
              bytes_to(op.dweight, op.accumulate_dweight),
          (op.dweight == nullptr ? 2 : 3) * product(op.hidden.shape()[0], op.weight)};
}

OpCost cost(const LastToken& op) { return {"last_token", "", 2 * bytes(op.out)}; }

OpCost cost(const Argmax& op) {
  return {"argmax", "", bytes_of(op.logits, op.logits.shape()[0] * op.vocab) + bytes(op.tokens)};
}

// With a loss scale gradients are read twice: none may be used before all are known to be finite.
// Where there is a master, a parameter is but its rounded copy. The first step, which makes states
// rather than reads them, counts as any other. Adafactor needs its rows' and columns' means before
// it knows an update, and the RMS of all of it and of the parameter before it takes one: it reads
// the gradient three times, the first of which tells whether it is finite, and the parameter twice.
// States in the host's memory are nothing to the card's: weights and gradients go there and back.
OpCost cost(const OptimizerStep& op) {
  OpCost result{"optimizer_step", ""};
  const bool relative = op.kind.rule == OptimizerKind::Rule::Adafactor;
  const std::uint64_t reads = relative ? 3 : op.scaler == nullptr ? 1 : 2;
  for (const ParameterUpdate& update : op.updates) {
    if (relative) result.bytes += bytes(update.parameter);
    const std::uint64_t states = bytes(update.master) + bytes(update.momentum) +
                                 bytes(update.variance) + bytes(update.scales);
    result.bytes += reads * bytes(update.gradient) +
                    bytes_to(*update.parameter, update.master == nullptr) +
                    (op.kind.on_host ? 0 : 2 * states);
  }
  return result;
}

OpCost cost(const FindOverflow& op) {
  OpCost result{"find_overflow", ""};
  for (const ParameterUpdate& update : op.updates) result.bytes += bytes(update.gradient);
  return result;
}

OpCost cost(const AllReduce& op) {
  OpCost result{"all_reduce", ""};
  for (const Tensor* tensor : op.tensors) result.bytes += 2 * bytes(tensor);
  return result;
}

OpCost cost(const ReduceScatter& op) {
  OpCost result{"reduce_scatter", ""};
  for (const PartOfSum& one : op.parts) {
    result.bytes += bytes(one.whole) + bytes_to(one.part, one.accumulate);
  }
  return result;
}

OpCost cost(const AllGather& op) {
  OpCost result{"all_gather", ""};
  for (const PartOfWhole& one : op.parts) result.bytes += bytes(one.part) + bytes(one.whole);
  return result;
}

OpCost cost(const Exchange& op) {
  OpCost result{"exchange", ""};
  for (const Message& one : op.sends) result.bytes += bytes(one.tensor);
  for (const Message& one : op.receives) result.bytes += bytes(one.tensor);
  return result;
}

OpCost cost(const SumWith& op) { return {"sum_with", "", 3 * bytes(op.tensor)}; }

OpCost cost(const Await&) { return {"await", ""}; }

}  // namespace vramfit
