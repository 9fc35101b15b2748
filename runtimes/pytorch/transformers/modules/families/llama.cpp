#include "runtimes/pytorch/transformers/modules/families/llama_layer.h"
#include "runtimes/pytorch/transformers/modules/families/rows.h"

namespace vramfit::pytorch {

const Family kLlama = {
    .model_type = "llama",
    .norm = Norm::Kind::LlamaRmsNorm,
    .make_layer = make_layer<LlamaLayer>,
    .projections = LlamaLayer::kProjections,
    .lora_targets = LlamaLayer::kLoraTargets,
};

}  // namespace vramfit::pytorch
