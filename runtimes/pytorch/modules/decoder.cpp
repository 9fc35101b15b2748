#include "runtimes/pytorch/modules/decoder.h"

#include "runtimes/pytorch/ops/view.h"

namespace vramfit::pytorch {

Tensor view_heads(const Tensor& x, std::int64_t head_dim) {
  return reshape(x, {x.size(0), x.size(1), x.size(2) / head_dim, head_dim});
}

Tensor split_heads(const Tensor& x, std::int64_t head_dim) {
  return transpose(view_heads(x, head_dim), 1, 2);
}

Activation activation_of(const ModelConfig& config) {
  if (config.hidden_act == "silu" || config.hidden_act == "swish") return Activation::Silu;
  if (config.hidden_act == "gelu_new") return Activation::NewGelu;
  if (config.hidden_act == "gelu_fast") return Activation::FastGelu;
  return Activation::GeluOp;
}

AttentionSettings attention_settings(const ModelConfig& config, const ModelSettings& settings,
                                     bool softmax_in_float) {
  AttentionSettings result;
  result.kind = settings.attention;
  result.dropout = config.dropout.attention;
  result.training = settings.training;
  result.softmax_in_float = softmax_in_float;
  return result;
}

}  // namespace vramfit::pytorch
