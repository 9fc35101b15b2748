#include "runtimes/pytorch/modules/families/llama_layer.h"

#include "runtimes/pytorch/ops/elementwise.h"

namespace vramfit::pytorch {

LlamaLayer::LlamaLayer(Context& context, const Family& family, const ModelConfig& c,
                       const ModelSettings& s)
    : head_dim_(c.head_dim),
      activation_(activation_of(c)),
      attention_(attention_settings(c, s)),
      q_proj_(context, c.hidden, c.q_width(), c.qkv_bias, s.type),
      k_proj_(context, c.hidden, c.kv_width(), c.qkv_bias, s.type),
      v_proj_(context, c.hidden, c.kv_width(), c.qkv_bias, s.type),
      o_proj_(context, c.q_width(), c.hidden, c.out_bias, s.type) {
  if (c.qk_norm != QkNorm::None) {
    q_norm_.emplace(context, family.norm, c.q_norm_width(), s.type);
    k_norm_.emplace(context, family.norm, c.k_norm_width(), s.type);
  }
  gate_proj_ = Linear(context, c.hidden, c.ffn, c.mlp_bias, s.type);
  up_proj_ = Linear(context, c.hidden, c.ffn, c.mlp_bias, s.type);
  down_proj_ = Linear(context, c.ffn, c.hidden, c.mlp_bias, s.type);
  for (std::size_t i = 0; i < c.block_norm_count(); ++i) {
    layernorms_[i] = Norm(context, family.norm, c.hidden, s.type);
  }
}

Tensor LlamaLayer::forward(const Tensor& hidden_states, const LayerInputs& inputs) const {
  const Norm& input_layernorm = layernorms_[0];
  const Norm& post_attention_layernorm = layernorms_[1];
  Tensor residual = hidden_states;
  Tensor hidden = input_layernorm(hidden_states);
  Attended attended = self_attention(hidden, inputs);
  hidden = std::move(attended.output);
  hidden = add(residual, hidden);
  residual = hidden;
  hidden = post_attention_layernorm(hidden);
  hidden = mlp(hidden);
  return add(residual, hidden);
}

std::vector<NamedLinear> LlamaLayer::projections() {
  return {{"q_proj", &q_proj_},      {"k_proj", &k_proj_},       {"v_proj", &v_proj_},
          {"o_proj", &o_proj_},      {"gate_proj", &gate_proj_}, {"up_proj", &up_proj_},
          {"down_proj", &down_proj_}};
}

std::vector<Tensor> LlamaLayer::parameters() const {
  std::vector<Tensor> all;
  const auto push = [&all](std::initializer_list<const Linear*> linears) {
    for (const Linear* linear : linears) {
      all.push_back(linear->weight);
      all.push_back(linear->bias);
    }
  };
  push({&q_proj_, &k_proj_, &v_proj_, &o_proj_});
  if (q_norm_) all.push_back(q_norm_->weight);
  if (k_norm_) all.push_back(k_norm_->weight);
  push({&gate_proj_, &up_proj_, &down_proj_});
  for (const Norm& norm : layernorms_) all.push_back(norm.weight);
  return all;
}

LlamaLayer::Heads LlamaLayer::heads(const Tensor& hidden) const {
  Heads heads;
  heads.query = split_heads(q_proj_(hidden), head_dim_);
  heads.key = split_heads(k_proj_(hidden), head_dim_);
  heads.value = split_heads(v_proj_(hidden), head_dim_);
  return heads;
}

void LlamaLayer::rotate_heads(Tensor& query, Tensor& key,
                              const PositionEmbeddings& positions) const {
  apply_rotary(query, key, positions);
}

Attended LlamaLayer::self_attention(const Tensor& hidden, const LayerInputs& inputs) const {
  auto [query, key, value] = heads(hidden);
  rotate_heads(query, key, inputs.positions);
  if (inputs.cache != nullptr) inputs.cache->update(key, value, inputs.index);
  Attended attended = attend(attention_, query, key, value, inputs.mask);
  attended.output = o_proj_(attended.output);
  return attended;
}

// down_proj(act_fn(gate_proj(x)) * up_proj(x))
Tensor LlamaLayer::mlp(const Tensor& x) const {
  Tensor gate = gate_proj_(x);
  gate = activate(activation_, gate);
  Tensor up = up_proj_(x);
  const Tensor product = mul(gate, up);
  gate.reset();
  up.reset();
  return down_proj_(product);
}

}  // namespace vramfit::pytorch
