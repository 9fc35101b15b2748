#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/transformers/modules/families/llama_layer.h"
#include "runtimes/pytorch/transformers/modules/families/rows.h"

namespace vramfit::pytorch {
namespace {

/// transformers/models/olmo2/modeling_olmo2.py, 5.17: norms behind attention and MLP.
class Olmo2Layer final : public LlamaLayer {
 public:
  using LlamaLayer::LlamaLayer;

  Tensor forward(const Tensor& hidden_states, const LayerInputs& inputs) const override {
    const Norm& post_attention_layernorm = layernorms_[0];
    const Norm& post_feedforward_layernorm = layernorms_[1];
    Tensor residual = hidden_states;
    Attended attended = self_attention(hidden_states, inputs);
    Tensor hidden = std::move(attended.output);
    hidden = post_attention_layernorm(hidden);
    hidden = add(residual, hidden);
    residual = hidden;
    hidden = mlp(hidden);
    hidden = post_feedforward_layernorm(hidden);
    return add(residual, hidden);
  }

 private:
  std::span<const char* const> layernorm_names() const override {
    static constexpr const char* kNames[] = {"post_attention_layernorm",
                                             "post_feedforward_layernorm"};
    return kNames;
  }

  Heads heads(const Tensor& hidden) const override {
    const Tensor query = (*q_norm_)(q_proj_(hidden));
    const Tensor key = (*k_norm_)(k_proj_(hidden));
    const Tensor value = v_proj_(hidden);
    return {split_heads(query, head_dim_), split_heads(key, head_dim_),
            split_heads(value, head_dim_)};
  }

  // The family's own apply_rotary_pos_emb: cos and sin are in fp32, and what comes of them is cast
  // back once both are rotated.
  void rotate_heads(Tensor& query, Tensor& key,
                    const PositionEmbeddings& positions) const override {
    const ScalarType query_type = query.type();
    const ScalarType key_type = key.type();
    Tensor query_embed = query;
    Tensor key_embed = key;
    apply_rotary(query_embed, key_embed, positions);
    Tensor query_cast = to(query_embed, query_type);
    Tensor key_cast = to(key_embed, key_type);
    query = std::move(query_cast);
    key = std::move(key_cast);
  }
};

}  // namespace

const Family kOlmo2 = {
    .model_type = "olmo2",
    .norm = Norm::Kind::Olmo2RmsNorm,
    .make_layer = make_layer<Olmo2Layer>,
    .projections = LlamaLayer::kProjections,
    .rotates_in_float = true,
};

}  // namespace vramfit::pytorch
