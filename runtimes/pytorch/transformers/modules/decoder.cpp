#include "runtimes/pytorch/transformers/modules/decoder.h"

#include "model/errors.h"
#include "runtimes/pytorch/torch/ops/view.h"

namespace vramfit::pytorch {

std::vector<NamedLinear> projections(DecoderLayer& layer) {
  std::vector<NamedLinear> all;
  for (const Child& child : layer.children()) {
    Linear* const* linear = std::get_if<Linear*>(&child.module);
    if (linear == nullptr) continue;
    const std::string_view path = child.path;
    all.push_back({path.substr(path.rfind('.') + 1), *linear});
  }
  return all;
}

std::vector<Tensor> parameters(DecoderLayer& layer) {
  std::vector<Tensor> all;
  for (const Child& child : layer.children()) {
    std::visit(
        [&all](const auto* module) {
          all.push_back(module->weight);
          if (module->bias.defined()) all.push_back(module->bias);
        },
        child.module);
  }
  return all;
}

Tensor view_heads(const Tensor& x, std::int64_t head_dim) {
  return reshape(x, {x.size(0), x.size(1), x.size(2) / head_dim, head_dim});
}

Tensor split_heads(const Tensor& x, std::int64_t head_dim) {
  return transpose(view_heads(x, head_dim), 1, 2);
}

Activation activation_of(const ModelConfig& config) {
  const std::string& act = config.hidden_act;
  if (act == "silu" || act == "swish") return Activation::Silu;
  if (act == "gelu" || act == "gelu_pytorch_tanh") return Activation::GeluOp;
  if (act == "gelu_new") return Activation::NewGelu;
  if (act == "gelu_fast") return Activation::FastGelu;
  throw BadInput("hidden_act: '" + act + "' is not predicted; silu, gelu, gelu_pytorch_tanh, " +
                 "gelu_new or gelu_fast");
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
