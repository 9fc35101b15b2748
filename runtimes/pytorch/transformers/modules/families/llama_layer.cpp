#include "runtimes/pytorch/transformers/modules/families/llama_layer.h"

#include "runtimes/pytorch/torch/ops/elementwise.h"

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

std::span<const char* const> LlamaLayer::layernorm_names() const {
  static constexpr const char* kNames[] = {"input_layernorm", "post_attention_layernorm"};
  return kNames;
}

std::vector<Child> LlamaLayer::children() {
  std::vector<Child> all = {{"self_attn.q_proj", &q_proj_},
                            {"self_attn.k_proj", &k_proj_},
                            {"self_attn.v_proj", &v_proj_},
                            {"self_attn.o_proj", &o_proj_, LinearInput::Attended}};
  if (q_norm_) all.push_back({"self_attn.q_norm", &*q_norm_});
  if (k_norm_) all.push_back({"self_attn.k_norm", &*k_norm_});
  all.push_back({"mlp.gate_proj", &gate_proj_});
  all.push_back({"mlp.up_proj", &up_proj_});
  all.push_back({"mlp.down_proj", &down_proj_, LinearInput::Hidden});
  const auto names = layernorm_names();
  for (std::size_t i = 0; i < names.size(); ++i) all.push_back({names[i], &layernorms_[i]});
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
