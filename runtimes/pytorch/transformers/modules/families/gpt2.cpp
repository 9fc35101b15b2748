#include "runtimes/pytorch/torch/ops/cat.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/transformers/modules/families/rows.h"

namespace vramfit::pytorch {
namespace {

/// transformers/models/gpt2/modeling_gpt2.py, 5.17.
class Gpt2Layer final : public DecoderLayer {
 public:
  Gpt2Layer(Context& context, const Family& family, const ModelConfig& c, const ModelSettings& s)
      : head_dim_(c.head_dim),
        residual_dropout_(c.dropout.residual),
        training_(s.training),
        activation_(activation_of(c)),
        attention_(attention_settings(c, s, false)),
        ln_1_(context, family.norm, c.hidden, s.type),
        c_attn_(context, c.hidden, 3 * c.hidden, true, s.type, Linear::Layout::InOut),
        c_proj_(context, c.hidden, c.hidden, true, s.type, Linear::Layout::InOut),
        ln_2_(context, family.norm, c.hidden, s.type),
        c_fc_(context, c.hidden, c.ffn, true, s.type, Linear::Layout::InOut),
        mlp_c_proj_(context, c.ffn, c.hidden, true, s.type, Linear::Layout::InOut) {}

  Tensor forward(const Tensor& hidden_states, const LayerInputs& inputs) const override {
    Tensor residual = hidden_states;
    Tensor hidden = ln_1_(hidden_states);
    const Attended attended = attention(hidden, inputs);
    hidden = add(attended.output, residual);
    residual = hidden;
    hidden = ln_2_(hidden);
    const Tensor feed_forward = mlp(hidden);
    return add(residual, feed_forward);
  }

  std::vector<Child> children() override {
    return {{"ln_1", &ln_1_},
            {"attn.c_attn", &c_attn_},
            {"attn.c_proj", &c_proj_, LinearInput::Attended},
            {"ln_2", &ln_2_},
            {"mlp.c_fc", &c_fc_},
            {"mlp.c_proj", &mlp_c_proj_, LinearInput::Hidden}};
  }

 private:
  Attended attention(const Tensor& hidden, const LayerInputs& inputs) const {
    const auto parts = split<3>(c_attn_(hidden), 2);
    const Tensor query = split_heads(parts[0], head_dim_);
    Tensor key = split_heads(parts[1], head_dim_);
    Tensor value = split_heads(parts[2], head_dim_);
    if (inputs.cache != nullptr) inputs.cache->update(key, value, inputs.index);
    Attended attended = attend(attention_, query, key, value, inputs.mask);
    attended.output = c_proj_(attended.output);
    attended.output = dropout(attended.output, residual_dropout_, training_);
    return attended;
  }

  Tensor mlp(const Tensor& x) const {
    Tensor hidden = c_fc_(x);
    hidden = activate(activation_, hidden);
    hidden = mlp_c_proj_(hidden);
    return dropout(hidden, residual_dropout_, training_);
  }

  std::int64_t head_dim_;
  double residual_dropout_;
  bool training_;
  Activation activation_;
  AttentionSettings attention_;
  Norm ln_1_;
  Linear c_attn_, c_proj_;
  Norm ln_2_;
  Linear c_fc_, mlp_c_proj_;
};

constexpr const char* kGpt2Projections[] = {"c_attn", "c_proj", "c_fc"};
constexpr const char* kGpt2LoraTargets[] = {"c_attn"};

}  // namespace

const Family kGpt2 = {
    .model_type = "gpt2",
    .norm = Norm::Kind::LayerNorm,
    .make_layer = make_layer<Gpt2Layer>,
    .projections = kGpt2Projections,
    .lora_targets = kGpt2LoraTargets,
    .parts = {.base = "transformer",
              .embedding = "wte",
              .positions = "wpe",
              .layers = "h",
              .norm = "ln_f"},
};

}  // namespace vramfit::pytorch
