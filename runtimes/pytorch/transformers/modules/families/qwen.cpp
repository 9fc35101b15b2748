#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/transformers/modules/families/llama_layer.h"
#include "runtimes/pytorch/transformers/modules/families/rows.h"

// qwen2 and qwen3.
namespace vramfit::pytorch {
namespace {

/// transformers/models/qwen3/modeling_qwen3.py, 5.17.
class Qwen3Layer final : public LlamaLayer {
 public:
  using LlamaLayer::LlamaLayer;

 private:
  // q_norm(q_proj(x).view(hidden_shape)).transpose(1, 2)
  Heads heads(const Tensor& hidden) const override {
    Heads heads;
    heads.query = transpose((*q_norm_)(view_heads(q_proj_(hidden), head_dim_)), 1, 2);
    heads.key = transpose((*k_norm_)(view_heads(k_proj_(hidden), head_dim_)), 1, 2);
    heads.value = split_heads(v_proj_(hidden), head_dim_);
    return heads;
  }
};

}  // namespace

const Family kQwen2 = {
    .model_type = "qwen2",
    .norm = Norm::Kind::LlamaRmsNorm,
    .make_layer = make_layer<LlamaLayer>,
    .projections = LlamaLayer::kProjections,
    .lora_targets = LlamaLayer::kLoraTargets,
    .masks_by_layer_type = true,
};

const Family kQwen3 = {
    .model_type = "qwen3",
    .norm = Norm::Kind::LlamaRmsNorm,
    .make_layer = make_layer<Qwen3Layer>,
    .projections = LlamaLayer::kProjections,
    .lora_targets = LlamaLayer::kLoraTargets,
    .masks_by_layer_type = true,
};

}  // namespace vramfit::pytorch
