#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/transformers/modules/families/llama_layer.h"
#include "runtimes/pytorch/transformers/modules/families/rows.h"

namespace vramfit::pytorch {
namespace {

/// transformers/models/granite/modeling_granite.py, 5.17: a multiplier on what each half adds.
class GraniteLayer final : public LlamaLayer {
 public:
  using LlamaLayer::LlamaLayer;

  Tensor forward(const Tensor& hidden_states, const LayerInputs& inputs) const override {
    const Norm& input_layernorm = layernorms_[0];
    const Norm& post_attention_layernorm = layernorms_[1];
    Tensor residual = hidden_states;
    Tensor hidden = input_layernorm(hidden_states);
    Attended attended = self_attention(hidden, inputs);
    hidden = std::move(attended.output);
    hidden = add(residual, mul_scalar(hidden));
    residual = hidden;
    hidden = post_attention_layernorm(hidden);
    hidden = mlp(hidden);
    return add(residual, mul_scalar(hidden));
  }
};

// GraniteForCausalLM.forward: logits / logits_scaling
Tensor scale_logits(const ModelConfig&, Tensor logits) {
  logits = mul_scalar(logits);
  return logits;
}

}  // namespace

const Family kGranite = {
    .model_type = "granite",
    .norm = Norm::Kind::LlamaRmsNorm,
    .make_layer = make_layer<GraniteLayer>,
    .projections = LlamaLayer::kProjections,
    .embedding_scale = EmbeddingScale::Scalar,
    .finish_logits = scale_logits,
};

}  // namespace vramfit::pytorch
