#include "runtimes/pytorch/torch/ops/cat.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/transformers/modules/families/rows.h"

namespace vramfit::pytorch {
namespace {

/// transformers/models/phi3/modeling_phi3.py, 5.17: q, k and v in one projection, gate and up in
/// another.
class Phi3Layer final : public DecoderLayer {
 public:
  Phi3Layer(Context& context, const Family& family, const ModelConfig& c, const ModelSettings& s)
      : head_dim_(c.head_dim),
        query_width_(c.q_width()),
        key_width_(c.kv_width()),
        residual_dropout_(c.dropout.residual),
        training_(s.training),
        activation_(activation_of(c)),
        attention_(attention_settings(c, s)),
        o_proj_(context, c.q_width(), c.hidden, false, s.type),
        qkv_proj_(context, c.hidden, c.qkv_width(), false, s.type),
        gate_up_proj_(context, c.hidden, 2 * c.ffn, false, s.type),
        down_proj_(context, c.ffn, c.hidden, false, s.type),
        input_layernorm_(context, family.norm, c.hidden, s.type),
        post_attention_layernorm_(context, family.norm, c.hidden, s.type) {}

  Tensor forward(const Tensor& hidden_states, const LayerInputs& inputs) const override {
    Tensor residual = hidden_states;
    Tensor hidden = input_layernorm_(hidden_states);
    Attended attended = self_attention(hidden, inputs);
    hidden = std::move(attended.output);
    hidden = add(residual, dropout(hidden, residual_dropout_, training_));
    residual = hidden;
    hidden = post_attention_layernorm_(hidden);
    hidden = mlp(hidden);
    return add(residual, dropout(hidden, residual_dropout_, training_));
  }

  std::vector<Child> children() override {
    return {{"self_attn.o_proj", &o_proj_, LinearInput::Attended},
            {"self_attn.qkv_proj", &qkv_proj_},
            {"mlp.gate_up_proj", &gate_up_proj_},
            {"mlp.down_proj", &down_proj_, LinearInput::Hidden},
            {"input_layernorm", &input_layernorm_},
            {"post_attention_layernorm", &post_attention_layernorm_}};
  }

 private:
  Attended self_attention(const Tensor& hidden, const LayerInputs& inputs) const {
    const Tensor qkv = qkv_proj_(hidden);
    Tensor query = slice(qkv, 2, query_width_);
    Tensor key = slice(qkv, 2, key_width_);
    Tensor value = slice(qkv, 2, key_width_);
    query = split_heads(query, head_dim_);
    key = split_heads(key, head_dim_);
    value = split_heads(value, head_dim_);
    rotate_part(query, key, inputs.positions);
    if (inputs.cache != nullptr) inputs.cache->update(key, value, inputs.index);
    Attended attended = attend(attention_, query, key, value, inputs.mask);
    attended.output = o_proj_(attended.output);
    return attended;
  }

  // The family's own apply_rotary_pos_emb: each is put together again as soon as it is rotated.
  void rotate_part(Tensor& query, Tensor& key, const PositionEmbeddings& positions) const {
    const Tensor cos = unsqueeze(positions.cos, 1);
    const Tensor sin = unsqueeze(positions.sin, 1);
    const std::int64_t rotated = cos.size(-1);
    const Tensor query_rot = slice(query, -1, rotated);
    const Tensor query_pass = slice(query, -1, head_dim_ - rotated);
    const Tensor key_rot = slice(key, -1, rotated);
    const Tensor key_pass = slice(key, -1, head_dim_ - rotated);
    Tensor query_embed = cat(rotate(query_rot, cos, sin), query_pass, -1);
    Tensor key_embed = cat(rotate(key_rot, cos, sin), key_pass, -1);
    query = std::move(query_embed);
    key = std::move(key_embed);
  }

  Tensor mlp(const Tensor& x) const {
    auto [gate, up] = split<2>(gate_up_proj_(x), 2);
    up = mul(up, activate(activation_, gate));
    return down_proj_(up);
  }

  std::int64_t head_dim_;
  std::int64_t query_width_;
  std::int64_t key_width_;
  double residual_dropout_;
  bool training_;
  Activation activation_;
  AttentionSettings attention_;
  Linear o_proj_, qkv_proj_;
  Linear gate_up_proj_, down_proj_;
  Norm input_layernorm_, post_attention_layernorm_;
};

constexpr const char* kPhi3Projections[] = {"o_proj", "qkv_proj", "gate_up_proj", "down_proj"};

}  // namespace

const Family kPhi3 = {
    .model_type = "phi3",
    .norm = Norm::Kind::LlamaRmsNorm,
    .make_layer = make_layer<Phi3Layer>,
    .projections = kPhi3Projections,
};

}  // namespace vramfit::pytorch
