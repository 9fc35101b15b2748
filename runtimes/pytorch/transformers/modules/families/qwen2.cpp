#include "runtimes/pytorch/transformers/modules/families/llama_layer.h"
#include "runtimes/pytorch/transformers/modules/families/rows.h"

namespace vramfit::pytorch {

const Family kQwen2 = {
    .model_type = "qwen2",
    .norm = Norm::Kind::LlamaRmsNorm,
    .make_layer = make_layer<LlamaLayer>,
    .projections = LlamaLayer::kProjections,
    .lora_targets = LlamaLayer::kLoraTargets,
    .masks_by_layer_type = true,
};

}  // namespace vramfit::pytorch
