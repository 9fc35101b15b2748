#include "runtimes/pytorch/modules/decoder.h"
#include "runtimes/pytorch/ops/elementwise.h"

namespace vramfit::pytorch {
namespace {

/// transformers/models/llama/modeling_llama.py, 5.17; mistral, qwen2 and gemma are generated from
/// it.
class LlamaLayer final : public DecoderLayer {
 public:
  LlamaLayer(Context& context, const ModelConfig& c, const ModelSettings& s)
      : head_dim_(c.head_dim),
        activation_(activation_of(c)),
        attention_(attention_settings(c, s)),
        q_proj_(context, c.hidden, c.q_width(), c.qkv_bias, s.type),
        k_proj_(context, c.hidden, c.kv_width(), c.qkv_bias, s.type),
        v_proj_(context, c.hidden, c.kv_width(), c.qkv_bias, s.type),
        o_proj_(context, c.q_width(), c.hidden, c.out_bias, s.type),
        gate_proj_(context, c.hidden, c.ffn, c.mlp_bias, s.type),
        up_proj_(context, c.hidden, c.ffn, c.mlp_bias, s.type),
        down_proj_(context, c.ffn, c.hidden, c.mlp_bias, s.type),
        input_layernorm_(context, norm_kind(c), c.hidden, s.type),
        post_attention_layernorm_(context, norm_kind(c), c.hidden, s.type) {}

  Tensor forward(const Tensor& hidden_states, const LayerInputs& inputs) const override {
    Tensor residual = hidden_states;
    Tensor hidden = input_layernorm_(hidden_states);
    Attended attended = self_attention(hidden, inputs);
    hidden = std::move(attended.output);
    hidden = add(residual, hidden);
    residual = hidden;
    hidden = post_attention_layernorm_(hidden);
    hidden = mlp(hidden);
    return add(residual, hidden);
  }

  std::vector<NamedLinear> projections() override {
    return {{"q_proj", &q_proj_},      {"k_proj", &k_proj_},       {"v_proj", &v_proj_},
            {"o_proj", &o_proj_},      {"gate_proj", &gate_proj_}, {"up_proj", &up_proj_},
            {"down_proj", &down_proj_}};
  }

  std::vector<Tensor> parameters() const override {
    std::vector<Tensor> all;
    for (const Linear* linear :
         {&q_proj_, &k_proj_, &v_proj_, &o_proj_, &gate_proj_, &up_proj_, &down_proj_}) {
      all.push_back(linear->weight);
      all.push_back(linear->bias);
    }
    all.push_back(input_layernorm_.weight);
    all.push_back(post_attention_layernorm_.weight);
    return all;
  }

 private:
  Attended self_attention(const Tensor& hidden, const LayerInputs& inputs) const {
    Tensor query = split_heads(q_proj_(hidden), head_dim_);
    Tensor key = split_heads(k_proj_(hidden), head_dim_);
    Tensor value = split_heads(v_proj_(hidden), head_dim_);
    apply_rotary(query, key, inputs.positions);
    if (inputs.cache != nullptr) inputs.cache->update(key, value, inputs.index);
    Attended attended = attend(attention_, query, key, value, inputs.mask);
    attended.output = o_proj_(attended.output);
    return attended;
  }

  // down_proj(act_fn(gate_proj(x)) * up_proj(x))
  Tensor mlp(const Tensor& x) const {
    Tensor gate = gate_proj_(x);
    gate = activate(activation_, gate);
    Tensor up = up_proj_(x);
    const Tensor product = mul(gate, up);
    gate.reset();
    up.reset();
    return down_proj_(product);
  }

  std::int64_t head_dim_;
  Activation activation_;
  AttentionSettings attention_;
  Linear q_proj_, k_proj_, v_proj_, o_proj_;
  Linear gate_proj_, up_proj_, down_proj_;
  Norm input_layernorm_, post_attention_layernorm_;
};

}  // namespace

std::unique_ptr<DecoderLayer> make_llama_layer(Context& context, const ModelConfig& config,
                                               const ModelSettings& settings) {
  return std::make_unique<LlamaLayer>(context, config, settings);
}

}  // namespace vramfit::pytorch
