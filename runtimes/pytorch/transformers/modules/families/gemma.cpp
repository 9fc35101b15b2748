#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/transformers/modules/families/llama_layer.h"
#include "runtimes/pytorch/transformers/modules/families/rows.h"

// gemma, gemma2 and gemma3.
namespace vramfit::pytorch {
namespace {

/// transformers/models/gemma2/modeling_gemma2.py, 5.17: norms around attention and MLP.
class Gemma2Layer : public LlamaLayer {
 public:
  Gemma2Layer(Context& context, const Family& family, const ModelConfig& config,
              const ModelSettings& settings);
  Tensor forward(const Tensor& hidden_states, const LayerInputs& inputs) const override;

 protected:
  std::span<const char* const> layernorm_names() const override;
};

Gemma2Layer::Gemma2Layer(Context& context, const Family& family, const ModelConfig& config,
                         const ModelSettings& settings)
    : LlamaLayer(context, family, config, settings) {
  attention_.softcap = config.scores_softcap;
}

std::span<const char* const> Gemma2Layer::layernorm_names() const {
  static constexpr const char* kNames[] = {"input_layernorm", "post_attention_layernorm",
                                           "pre_feedforward_layernorm",
                                           "post_feedforward_layernorm"};
  return kNames;
}

Tensor Gemma2Layer::forward(const Tensor& hidden_states, const LayerInputs& inputs) const {
  const Norm& input_layernorm = layernorms_[0];
  const Norm& post_attention_layernorm = layernorms_[1];
  const Norm& pre_feedforward_layernorm = layernorms_[2];
  const Norm& post_feedforward_layernorm = layernorms_[3];
  Tensor residual = hidden_states;
  Tensor hidden = input_layernorm(hidden_states);
  Attended attended = self_attention(hidden, inputs);
  hidden = std::move(attended.output);
  hidden = post_attention_layernorm(hidden);
  hidden = add(residual, hidden);
  residual = hidden;
  hidden = pre_feedforward_layernorm(hidden);
  hidden = mlp(hidden);
  hidden = post_feedforward_layernorm(hidden);
  return add(residual, hidden);
}

/// Gemma2ForCausalLM.forward: final_logit_softcapping, where the config has it.
Tensor softcap_logits(const ModelConfig& config, Tensor logits) {
  if (!config.logits_softcap) return logits;
  logits = mul_scalar(logits);
  logits = tanh(logits);
  return mul_scalar(logits);
}

/// transformers/models/gemma3/modeling_gemma3.py, 5.17, its text model.
class Gemma3Layer final : public Gemma2Layer {
 public:
  using Gemma2Layer::Gemma2Layer;

 private:
  Heads heads(const Tensor& hidden) const override {
    Heads heads = Gemma2Layer::heads(hidden);
    heads.query = (*q_norm_)(heads.query);
    heads.key = (*k_norm_)(heads.key);
    return heads;
  }
};

}  // namespace

const Family kGemma = {
    .model_type = "gemma",
    .norm = Norm::Kind::GemmaRmsNorm,
    .make_layer = make_layer<LlamaLayer>,
    .projections = LlamaLayer::kProjections,
    .lora_targets = LlamaLayer::kLoraTargets,
    .embedding_scale = EmbeddingScale::Buffer,
};

const Family kGemma2 = {
    .model_type = "gemma2",
    .norm = Norm::Kind::GemmaRmsNorm,
    .make_layer = make_layer<Gemma2Layer>,
    .projections = LlamaLayer::kProjections,
    .lora_targets = LlamaLayer::kLoraTargets,
    .embedding_scale = EmbeddingScale::Buffer,
    .masks_by_layer_type = true,
    .finish_logits = softcap_logits,
};

const Family kGemma3Text = {
    .model_type = "gemma3_text",
    .norm = Norm::Kind::GemmaRmsNorm,
    .make_layer = make_layer<Gemma3Layer>,
    .projections = LlamaLayer::kProjections,
    .lora_targets = LlamaLayer::kLoraTargets,
    .embedding_scale = EmbeddingScale::Buffer,
    .rotary_by_layer_type = true,
    .masks_by_layer_type = true,
    .finish_logits = softcap_logits,
};

}  // namespace vramfit::pytorch
