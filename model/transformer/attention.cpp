#include "model/transformer/attention.h"

namespace vramfit {

KvCache::KvCache(Runtime& runtime, const ModelConfig& config, std::int64_t batch,
                 std::int64_t positions) {
  const Shape shape = {batch, positions, config.kv_heads, config.head_dim};
  for (int layer = 0; layer < config.layers; ++layer) {
    keys_.emplace_back(runtime.ledger, Name{"keys", layer}, Category::KvCache, runtime.dtype,
                       shape);
    values_.emplace_back(runtime.ledger, Name{"values", layer}, Category::KvCache, runtime.dtype,
                         shape);
  }
}

AttentionShape attention_shape(const ModelConfig& config, const Sequence& sequence) {
  return {sequence.batch, sequence.seq, config.heads, config.kv_heads, config.head_dim};
}

void rotate(Model& model, Tensor& qkv, const Sequence& sequence, bool backward) {
  const ModelConfig& config = model.config;
  if (!config.rope) return;
  model.runtime.device.run(RotaryEmbedding{qkv, sequence.seq, config.heads + config.kv_heads,
                                           config.head_dim, model.frequencies,
                                           sequence.first_position(), backward});
}

AttentionKept attend(Model& model, int layer, const Sequence& sequence, const Tensor& qkv,
                     bool keep) {
  Runtime& rt = model.runtime;
  const AttentionShape shape = attention_shape(model.config, sequence);
  if (sequence.cache != nullptr) {
    rt.device.run(KvCacheAppend{shape, qkv, sequence.cache->keys(layer),
                                sequence.cache->values(layer), sequence.first_position()});
  }
  AttentionKept kept;
  kept.out = rt.activation({"attention", layer}, {shape.tokens(), shape.q_width()});
  const bool flash = sequence.form == AttentionForm::Flash;
  if (flash && keep) {
    kept.log_sum_exp = rt.statistics({"log_sum_exp", layer}, {shape.batch, shape.heads, shape.seq});
  }
  if (!flash) {
    kept.probabilities =
        rt.activation({"probabilities", layer}, {shape.batch, shape.heads, shape.seq, shape.seq});
  }
  Tensor workspace = rt.bytes({"attention_workspace", layer},
                              attention_forward_workspace_bytes(sequence.form, shape, rt.dtype));
  rt.device.run(AttentionForward{
      sequence.form, shape, qkv, kept.out, kept.log_sum_exp ? &kept.log_sum_exp : nullptr,
      kept.probabilities ? &kept.probabilities : nullptr, workspace, rt.gemm_workspace});
  return kept;
}

Tensor attend_to_cache(Model& model, int layer, const Sequence& sequence, const Tensor& qkv) {
  Runtime& rt = model.runtime;
  const AttentionShape shape = attention_shape(model.config, sequence);
  KvCache& cache = *sequence.cache;
  rt.device.run(KvCacheAppend{shape, qkv, cache.keys(layer), cache.values(layer), cache.length});
  Tensor out = rt.activation({"attention", layer}, {shape.tokens(), shape.q_width()});
  Tensor workspace =
      rt.bytes({"attention_workspace", layer}, attention_decode_workspace_bytes(shape, rt.dtype));
  rt.device.run(AttentionDecode{shape, qkv, cache.keys(layer), cache.values(layer),
                                cache.length + 1, out, workspace});
  return out;
}

Tensor attend_backward(Model& model, int layer, const Sequence& sequence, Tensor qkv,
                       AttentionKept kept, Tensor dout) {
  Runtime& rt = model.runtime;
  const AttentionShape shape = attention_shape(model.config, sequence);
  Tensor dqkv = rt.activation({"d_qkv", layer}, qkv.shape());
  Tensor dscores;
  if (kept.probabilities) {
    dscores = rt.activation({"d_scores", layer}, kept.probabilities.shape());
  }
  Tensor workspace = rt.bytes({"attention_workspace", layer},
                              attention_backward_workspace_bytes(sequence.form, shape, rt.dtype));
  rt.device.run(AttentionBackward{sequence.form, shape, qkv, kept.out,
                                  kept.log_sum_exp ? &kept.log_sum_exp : nullptr,
                                  kept.probabilities ? &kept.probabilities : nullptr, dout, dqkv,
                                  dscores ? &dscores : nullptr, workspace, rt.gemm_workspace});
  // By name rather than by leaving scope: when parameters die is the compiler's choice.
  qkv.release();
  kept = {};
  dout.release();
  rotate(model, dqkv, sequence, true);
  return dqkv;
}

}  // namespace vramfit
