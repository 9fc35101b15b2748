#include "runtimes/pytorch/torch/ops/cat.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/transformers/modules/families/rows.h"

namespace vramfit::pytorch {
namespace {

/// transformers/models/gpt_neox/modeling_gpt_neox.py, 5.17.
class GptNeoxLayer final : public DecoderLayer {
 public:
  GptNeoxLayer(Context& context, const Family& family, const ModelConfig& c, const ModelSettings& s)
      : head_dim_(c.head_dim),
        hidden_dropout_(c.dropout.residual),
        training_(s.training),
        parallel_(c.residual == Residual::Parallel),
        activation_(activation_of(c)),
        attention_(attention_settings(c, s)),
        input_layernorm_(context, family.norm, c.hidden, s.type),
        post_attention_layernorm_(context, family.norm, c.hidden, s.type),
        query_key_value_(context, c.hidden, 3 * c.hidden, c.qkv_bias, s.type),
        dense_(context, c.hidden, c.hidden, c.out_bias, s.type),
        dense_h_to_4h_(context, c.hidden, c.ffn, c.mlp_bias, s.type),
        dense_4h_to_h_(context, c.ffn, c.hidden, c.mlp_bias, s.type) {}

  Tensor forward(const Tensor& hidden, const LayerInputs& inputs) const override {
    Attended attended = self_attention(input_layernorm_(hidden), inputs);
    Tensor attention_output = std::move(attended.output);
    attention_output = dropout(attention_output, hidden_dropout_, training_);
    if (parallel_) {
      const Tensor mlp_output = mlp(post_attention_layernorm_(hidden));
      const Tensor sum = add(mlp_output, attention_output);
      return add(sum, hidden);
    }
    attention_output = add(attention_output, hidden);
    const Tensor mlp_output = mlp(post_attention_layernorm_(attention_output));
    return add(mlp_output, attention_output);
  }

  std::vector<Child> children() override {
    return {{"input_layernorm", &input_layernorm_},
            {"post_attention_layernorm", &post_attention_layernorm_},
            {"attention.query_key_value", &query_key_value_},
            {"attention.dense", &dense_, LinearInput::Attended},
            {"mlp.dense_h_to_4h", &dense_h_to_4h_},
            {"mlp.dense_4h_to_h", &dense_4h_to_h_, LinearInput::Hidden}};
  }

 private:
  Attended self_attention(const Tensor& hidden, const LayerInputs& inputs) const {
    // A head's q, k and v lie beside each other.
    const Tensor qkv = split_heads(query_key_value_(hidden), 3 * head_dim_);
    auto parts = split<3>(qkv, 3);
    Tensor query = std::move(parts[0]);
    Tensor key = std::move(parts[1]);
    Tensor value = std::move(parts[2]);
    rotate_part(query, key, inputs.positions);
    if (inputs.cache != nullptr) inputs.cache->update(key, value, inputs.index);
    Attended attended = attend(attention_, query, key, value, inputs.mask);
    attended.output = dense_(attended.output);
    return attended;
  }

  // The family's own apply_rotary_pos_emb: only the first dimensions are rotated.
  void rotate_part(Tensor& query, Tensor& key, const PositionEmbeddings& positions) const {
    const std::int64_t rotated = positions.cos.size(-1);
    Tensor query_embed = slice(query, -1, rotated);
    const Tensor query_pass = slice(query, -1, head_dim_ - rotated);
    Tensor key_embed = slice(key, -1, rotated);
    const Tensor key_pass = slice(key, -1, head_dim_ - rotated);
    apply_rotary(query_embed, key_embed, positions);
    query_embed = cat(query_embed, query_pass, -1);
    key_embed = cat(key_embed, key_pass, -1);
    query = std::move(query_embed);
    key = std::move(key_embed);
  }

  Tensor mlp(const Tensor& x) const {
    Tensor hidden = dense_h_to_4h_(x);
    hidden = activate(activation_, hidden);
    hidden = dense_4h_to_h_(hidden);
    return dropout(hidden, hidden_dropout_, training_);
  }

  std::int64_t head_dim_;
  double hidden_dropout_;
  bool training_;
  bool parallel_;
  Activation activation_;
  AttentionSettings attention_;
  Norm input_layernorm_, post_attention_layernorm_;
  Linear query_key_value_, dense_;
  Linear dense_h_to_4h_, dense_4h_to_h_;
};

constexpr const char* kGptNeoxProjections[] = {"query_key_value", "dense", "dense_h_to_4h",
                                               "dense_4h_to_h"};
constexpr const char* kGptNeoxLoraTargets[] = {"query_key_value"};

}  // namespace

const Family kGptNeox = {
    .model_type = "gpt_neox",
    .norm = Norm::Kind::LayerNorm,
    .make_layer = make_layer<GptNeoxLayer>,
    .projections = kGptNeoxProjections,
    .lora_targets = kGptNeoxLoraTargets,
    .parts = {.base = "gpt_neox",
              .embedding = "embed_in",
              .norm = "final_layer_norm",
              .head = "embed_out"},
};

}  // namespace vramfit::pytorch
