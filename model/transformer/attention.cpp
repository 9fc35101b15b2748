#include "model/transformer/attention.h"

namespace vramfit {

AttentionShape attention_shape(const ModelConfig& config, const Sequence& sequence) {
  return {sequence.batch, sequence.seq, config.heads, config.kv_heads, config.head_dim};
}

void normalize_heads(Model& model, int layer, const Sequence& sequence, Tensor& qkv,
                     SavedHeadNorm* saved) {
  const ModelConfig& config = model.config;
  if (config.qk_norm == QkNorm::None) return;
  OpContext& context = model.context;
  const AttentionShape shape = attention_shape(config, sequence);
  if (saved != nullptr) {
    saved->x = context.activation({"head_norm_x", layer},
                                  {shape.tokens(), shape.q_width() + shape.kv_width()});
    saved->rstd =
        context.statistics({"head_rstd", layer}, {shape.tokens(), shape.heads + shape.kv_heads});
  }
  context.device.run(HeadNormForward{
      config.norm_eps, shape, qkv, model.weights.value(Role::QNormWeight, layer),
      model.weights.value(Role::KNormWeight, layer), saved != nullptr ? &saved->x : nullptr,
      saved != nullptr ? &saved->rstd : nullptr});
}

void normalize_heads_backward(Model& model, int layer, const Sequence& sequence,
                              SavedHeadNorm saved, Tensor& dqkv) {
  const ModelConfig& config = model.config;
  if (config.qk_norm == QkNorm::None) return;
  OpContext& context = model.context;
  Weights& weights = model.weights;
  const AttentionShape shape = attention_shape(config, sequence);
  HeadNormBackward op{shape,
                      saved.x,
                      saved.rstd,
                      weights.value(Role::QNormWeight, layer),
                      weights.value(Role::KNormWeight, layer),
                      dqkv};
  Tensor partials;
  if (weights.trains(Role::QNormWeight, layer)) {
    const GradientTarget dq = weights.gradient(context, Role::QNormWeight, layer);
    const GradientTarget dk = weights.gradient(context, Role::KNormWeight, layer);
    op.dq_weight = &dq.tensor;
    op.accumulate_dq_weight = dq.accumulate;
    op.dk_weight = &dk.tensor;
    op.accumulate_dk_weight = dk.accumulate;
    partials = context.scratch({"head_norm_partials", layer},
                               head_norm_partials_shape(shape.tokens(), shape.head_dim));
    op.partials = &partials;
  }
  context.device.run(op);
  saved = {};
}

void rotate(Model& model, Tensor& qkv, const Sequence& sequence, bool backward) {
  const ModelConfig& config = model.config;
  if (!config.rope) return;
  model.context.device.run(RotaryEmbedding{qkv, sequence.seq, config.heads + config.kv_heads,
                                           config.head_dim, model.frequencies, sequence.starts(),
                                           backward});
}

SavedAttention attend(Model& model, int layer, const Sequence& sequence, const Tensor& qkv,
                      bool save) {
  OpContext& context = model.context;
  const AttentionShape shape = attention_shape(model.config, sequence);
  if (sequence.cache != nullptr) {
    context.device.run(
        KvCacheAppend{shape, qkv, sequence.cache->layer(layer), nullptr, sequence.counts()});
  }
  SavedAttention saved;
  saved.out = context.activation({"attention", layer}, {shape.tokens(), shape.q_width()});
  const bool flash = sequence.form == AttentionForm::Flash;
  if (flash && save) {
    saved.log_sum_exp =
        context.statistics({"log_sum_exp", layer}, {shape.batch, shape.heads, shape.seq});
  }
  if (!flash) {
    saved.probabilities = context.activation({"probabilities", layer},
                                             {shape.batch, shape.heads, shape.seq, shape.seq});
  }
  Tensor workspace =
      context.bytes({"attention_workspace", layer},
                    attention_forward_workspace_bytes(sequence.form, shape, qkv.format()));
  context.device.run(AttentionForward{
      sequence.form, shape, qkv, saved.out, saved.log_sum_exp ? &saved.log_sum_exp : nullptr,
      saved.probabilities ? &saved.probabilities : nullptr, workspace, context.gemm_workspace});
  return saved;
}

Tensor attend_to_cache(Model& model, int layer, const Sequence& sequence, Tensor& qkv) {
  OpContext& context = model.context;
  const AttentionShape shape = attention_shape(model.config, sequence);
  const KvBlocks cache = sequence.cache->layer(layer);
  Tensor out = context.activation({"attention", layer}, {shape.tokens(), shape.q_width()});
  Tensor workspace = context.bytes({"attention_workspace", layer},
                                   attention_decode_workspace_bytes(shape, qkv.format()));
  context.device.run(AttentionDecode{shape, qkv, model.config.rope ? &model.frequencies : nullptr,
                                     cache, *sequence.starts(), out, workspace});
  return out;
}

Tensor attend_backward(Model& model, int layer, const Sequence& sequence, Tensor qkv,
                       SavedAttention saved, Tensor dout) {
  OpContext& context = model.context;
  const AttentionShape shape = attention_shape(model.config, sequence);
  Tensor dqkv = context.activation({"d_qkv", layer}, qkv.shape());
  Tensor dscores;
  if (saved.probabilities) {
    dscores = context.activation({"d_scores", layer}, saved.probabilities.shape());
  }
  Tensor workspace =
      context.bytes({"attention_workspace", layer},
                    attention_backward_workspace_bytes(sequence.form, shape, qkv.format()));
  context.device.run(AttentionBackward{
      sequence.form, shape, qkv, saved.out, saved.log_sum_exp ? &saved.log_sum_exp : nullptr,
      saved.probabilities ? &saved.probabilities : nullptr, dout, dqkv,
      dscores ? &dscores : nullptr, workspace, context.gemm_workspace});
  // By name rather than by leaving scope: when parameters die is the compiler's choice.
  qkv.release();
  saved = {};
  dout.release();
  rotate(model, dqkv, sequence, true);
  return dqkv;
}

}  // namespace vramfit
