#include "model/transformer/parameters.h"

#include <cmath>
#include <utility>

#include "model/checked.h"

namespace vramfit {
namespace {

constexpr float kDeviation = 0.02F;  // gpt2's and llama's initializer_range

class SpecList {
 public:
  void weight(Role role, const Name& name, const Shape& shape, const Shape& stored,
              float deviation) {
    specs_.push_back({role, layer_, name, shape, stored, true, {0.0F, deviation}});
  }
  void weight(Role role, const Name& name, const Shape& shape, float deviation = kDeviation) {
    weight(role, name, shape, shape, deviation);
  }
  void bias(Role role, const Name& name, std::int64_t size, bool present) {
    if (present) specs_.push_back({role, layer_, name, {size}, {size}, false, {0.0F, 0.0F}});
  }
  void scale(Role role, const Name& name, std::int64_t size) {
    specs_.push_back({role, layer_, name, {size}, {size}, false, {1.0F, 0.0F}});
  }
  void enter_layer(int layer) { layer_ = layer; }
  std::vector<ParameterSpec> take() { return std::move(specs_); }

 private:
  std::vector<ParameterSpec> specs_;
  int layer_ = -1;
};

void add_qk_norm(SpecList& list, const ModelConfig& c, int layer) {
  const bool bias = c.norm == NormKind::LayerNorm;
  list.scale(Role::QNormWeight, {"q_norm.weight", layer}, c.q_norm_width());
  list.bias(Role::QNormBias, {"q_norm.bias", layer}, c.q_norm_width(), bias);
  list.scale(Role::KNormWeight, {"k_norm.weight", layer}, c.k_norm_width());
  list.bias(Role::KNormBias, {"k_norm.bias", layer}, c.k_norm_width(), bias);
}

/// The norms behind attention and MLP of a block that has them on both sides.
void add_norms_behind(SpecList& list, const ModelConfig& c, int layer) {
  if (c.block_norms != BlockNorms::Around) return;
  list.scale(Role::Norm1BehindWeight, {"norm1_behind.weight", layer}, c.hidden);
  list.scale(Role::Norm2BehindWeight, {"norm2_behind.weight", layer}, c.hidden);
}

void add_block(SpecList& list, const ModelConfig& c, int layer) {
  const bool norm_bias = c.norm == NormKind::LayerNorm;
  // Projections into the residual stream start smaller, by 1/sqrt(2·layers) (GPT-2's paper, 2.3).
  const float residual = kDeviation / std::sqrt(2.0F * static_cast<float>(c.layers));
  list.enter_layer(layer);
  list.scale(Role::Norm1Weight, {"norm1.weight", layer}, c.hidden);
  list.bias(Role::Norm1Bias, {"norm1.bias", layer}, c.hidden, norm_bias);
  list.weight(Role::QkvWeight, {"qkv.weight", layer}, {c.qkv_width(), c.hidden});
  list.bias(Role::QkvBias, {"qkv.bias", layer}, c.qkv_width(), c.qkv_bias);
  if (c.qk_norm != QkNorm::None) add_qk_norm(list, c, layer);
  list.weight(Role::OutWeight, {"out.weight", layer}, {c.hidden, c.q_width()}, residual);
  list.bias(Role::OutBias, {"out.bias", layer}, c.hidden, c.out_bias);
  if (c.residual != Residual::ParallelOneNorm) {
    list.scale(Role::Norm2Weight, {"norm2.weight", layer}, c.hidden);
    list.bias(Role::Norm2Bias, {"norm2.bias", layer}, c.hidden, norm_bias);
  }
  list.weight(Role::UpWeight, {"up.weight", layer}, {c.up_width(), c.hidden});
  list.bias(Role::UpBias, {"up.bias", layer}, c.up_width(), c.mlp_bias);
  list.weight(Role::DownWeight, {"down.weight", layer}, {c.hidden, c.ffn}, residual);
  list.bias(Role::DownBias, {"down.bias", layer}, c.hidden, c.mlp_bias);
  add_norms_behind(list, c, layer);
}

/// Blocks have the same shapes: one is counted for all.
std::int64_t sum_of_elements(ModelConfig config, Shape ParameterSpec::*shape) {
  const std::int64_t blocks = std::exchange(config.layers, 1);
  std::int64_t sum = 0;
  for (const ParameterSpec& spec : parameter_specs(config)) {
    sum += (spec.*shape).elements() * (spec.layer < 0 ? 1 : blocks);
  }
  return sum;
}

}  // namespace

std::int64_t stored_vocab(const ModelConfig& config) {
  return round_up(config.vocab, kVocabRowMultiple);
}

std::vector<ParameterSpec> parameter_specs(const ModelConfig& c) {
  const Shape table = {c.vocab, c.hidden};
  const Shape stored_table = {stored_vocab(c), c.hidden};
  SpecList list;
  list.weight(Role::TokenEmbedding, "token_embedding.weight", table, stored_table, kDeviation);
  if (c.learned_positions()) {
    list.weight(Role::PositionEmbedding, "position_embedding.weight", {c.max_positions, c.hidden});
  }
  for (int layer = 0; layer < c.layers; ++layer) add_block(list, c, layer);
  list.enter_layer(-1);
  list.scale(Role::FinalNormWeight, "final_norm.weight", c.hidden);
  list.bias(Role::FinalNormBias, "final_norm.bias", c.hidden, c.norm == NormKind::LayerNorm);
  if (!c.tied_head) {
    list.weight(Role::HeadWeight, "head.weight", table, stored_table, kDeviation);
  }
  list.bias(Role::HeadBias, "head.bias", c.vocab, c.head_bias);
  return list.take();
}

std::int64_t parameter_count(const ModelConfig& config) {
  if (config.taped) return config.taped->parameters;
  return sum_of_elements(config, &ParameterSpec::shape);
}

std::int64_t stored_parameter_count(const ModelConfig& config) {
  return sum_of_elements(config, &ParameterSpec::stored);
}

}  // namespace vramfit
