#pragma once

#include "runtimes/pytorch/transformers/modules/families/llama_layer.h"

namespace vramfit::pytorch {

/// transformers/models/gemma2/modeling_gemma2.py, 5.17: norms around attention and MLP.
class Gemma2Layer : public LlamaLayer {
 public:
  Gemma2Layer(Context& context, const Family& family, const ModelConfig& config,
              const ModelSettings& settings);
  Tensor forward(const Tensor& hidden_states, const LayerInputs& inputs) const override;

 protected:
  std::span<const char* const> layernorm_names() const override;
};

/// Gemma2ForCausalLM.forward: final_logit_softcapping, where the config has it.
Tensor softcap_logits(const ModelConfig& config, Tensor logits);

}  // namespace vramfit::pytorch
