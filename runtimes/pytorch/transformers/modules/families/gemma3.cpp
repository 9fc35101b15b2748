#include "runtimes/pytorch/transformers/modules/families/gemma2_layer.h"
#include "runtimes/pytorch/transformers/modules/families/rows.h"

namespace vramfit::pytorch {
namespace {

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
