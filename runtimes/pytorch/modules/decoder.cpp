#include "runtimes/pytorch/modules/decoder.h"

#include "model/errors.h"
#include "runtimes/pytorch/ops/view.h"

namespace vramfit::pytorch {

std::unique_ptr<DecoderLayer> make_layer(Context& context, const ModelConfig& config,
                                         const ModelSettings& settings) {
  if (config.family == "gpt2") return make_gpt2_layer(context, config, settings);
  if (config.family == "phi") return make_phi_layer(context, config, settings);
  if (config.family == "gpt_neox") return make_gpt_neox_layer(context, config, settings);
  return make_llama_layer(context, config, settings);
}

Tensor split_heads(const Tensor& x, std::int64_t head_dim) {
  const Dims sizes = {x.size(0), x.size(1), x.size(2) / head_dim, head_dim};
  return transpose(reshape(x, sizes), 1, 2);
}

Norm::Kind norm_kind(const ModelConfig& config) {
  if (config.norm == NormKind::LayerNorm) return Norm::Kind::LayerNorm;
  return config.family == "gemma" ? Norm::Kind::GemmaRmsNorm : Norm::Kind::LlamaRmsNorm;
}

Activation activation_of(const ModelConfig& config) {
  if (config.hidden_act == "silu" || config.hidden_act == "swish") return Activation::Silu;
  if (config.hidden_act == "gelu_new") return Activation::NewGelu;
  if (config.hidden_act == "gelu_fast") return Activation::FastGelu;
  return Activation::GeluOp;
}

AttentionSettings attention_settings(const ModelConfig& config, const ModelSettings& settings) {
  return {settings.attention, config.dropout.attention, settings.training, config.family != "gpt2"};
}

}  // namespace vramfit::pytorch
