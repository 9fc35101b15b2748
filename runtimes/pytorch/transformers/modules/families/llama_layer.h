#pragma once

#include <array>
#include <span>

#include "runtimes/pytorch/transformers/modules/family.h"

namespace vramfit::pytorch {

/// transformers/models/llama/modeling_llama.py, 5.17, which most families' files are generated
/// from: what they do otherwise overrides it.
class LlamaLayer : public DecoderLayer {
 public:
  LlamaLayer(Context& context, const Family& family, const ModelConfig& config,
             const ModelSettings& settings);

  Tensor forward(const Tensor& hidden_states, const LayerInputs& inputs) const override;
  std::vector<Child> children() override;

  static constexpr const char* kProjections[] = {"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                                 "gate_proj", "up_proj", "down_proj"};
  /// What PEFT adapts of most of these families where no target_modules are named.
  static constexpr const char* kLoraTargets[] = {"q_proj", "v_proj"};

 protected:
  struct Heads {
    Tensor query, key, value;  ///< (batch, heads, tokens, head_dim)
  };
  /// Of the norms of the residual stream, as many as the family has.
  virtual std::span<const char* const> layernorm_names() const;
  virtual Heads heads(const Tensor& hidden) const;
  virtual void rotate_heads(Tensor& query, Tensor& key, const PositionEmbeddings& positions) const;

  Attended self_attention(const Tensor& hidden, const LayerInputs& inputs) const;
  Tensor mlp(const Tensor& x) const;

  std::int64_t head_dim_;
  Activation activation_;
  AttentionSettings attention_;
  Linear q_proj_, k_proj_, v_proj_, o_proj_;
  std::optional<Norm> q_norm_, k_norm_;
  Linear gate_proj_, up_proj_, down_proj_;
  std::array<Norm, 4> layernorms_;  ///< of the residual stream, as many as the family has
};

}  // namespace vramfit::pytorch
