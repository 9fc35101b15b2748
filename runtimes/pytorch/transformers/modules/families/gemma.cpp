#include "runtimes/pytorch/transformers/modules/families/llama_layer.h"
#include "runtimes/pytorch/transformers/modules/families/rows.h"

namespace vramfit::pytorch {

const Family kGemma = {
    .model_type = "gemma",
    .norm = Norm::Kind::GemmaRmsNorm,
    .make_layer = make_layer<LlamaLayer>,
    .projections = LlamaLayer::kProjections,
    .lora_targets = LlamaLayer::kLoraTargets,
    .embedding_scale = EmbeddingScale::Buffer,
};

}  // namespace vramfit::pytorch
