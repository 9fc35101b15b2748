#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "model/config/model_config.h"
#include "runtimes/pytorch/transformers/modules/attention.h"
#include "runtimes/pytorch/transformers/modules/kv_cache.h"
#include "runtimes/pytorch/transformers/modules/layers.h"
#include "runtimes/pytorch/transformers/modules/masks.h"
#include "runtimes/pytorch/transformers/modules/outliers.h"
#include "runtimes/pytorch/transformers/modules/rotary.h"

namespace vramfit::pytorch {

/// What a model is built and run with, beside its config.
struct ModelSettings {
  ScalarType type = ScalarType::BFloat16;
  AttentionKind attention = AttentionKind::Sdpa;
  bool training = false;  ///< model.train()
  GradientCheckpointing checkpoint = GradientCheckpointing::None;
  bool fused_head = false;  ///< TRL's, in place of the head and the loss
  // Of a model that is cut by its layers:
  bool first = true;  ///< embeddings come before them
  bool last = true;   ///< the norm and the head come behind
};

/// What a layer gets beside the hidden states.
struct LayerInputs {
  Tensor mask;
  Tensor position_ids;  ///< unused, but kept by what checkpointing keeps
  PositionEmbeddings positions;
  KvCache* cache = nullptr;
  std::size_t index = 0;
};

/// A module of a block, by its dotted name there: "self_attn.q_proj".
struct Child {
  const char* path;
  std::variant<Linear*, Norm*> module;
  LinearInput input = LinearInput::Stream;
};

/// One block of a family: its __init__, forward, and what can be adapted.
class DecoderLayer {
 public:
  virtual ~DecoderLayer() = default;
  virtual Tensor forward(const Tensor& hidden, const LayerInputs& inputs) const = 0;
  /// In the order of named_modules(), which is that of parameters().
  virtual std::vector<Child> children() = 0;
};

/// A projection by the name that LoRA's target_modules have for it.
struct NamedLinear {
  std::string_view name;
  Linear* linear;
};
std::vector<NamedLinear> projections(DecoderLayer& layer);
/// Those that there are, in the order of parameters().
std::vector<Tensor> parameters(DecoderLayer& layer);

/// x W^T as heads, a view: (batch, tokens, heads, head_dim).
Tensor view_heads(const Tensor& x, std::int64_t head_dim);
/// The same as (batch, heads, tokens, head_dim).
Tensor split_heads(const Tensor& x, std::int64_t head_dim);

Activation activation_of(const ModelConfig& config);
/// `softmax_in_float`: of eager attention; gpt2 leaves the type as it is.
AttentionSettings attention_settings(const ModelConfig& config, const ModelSettings& settings,
                                     bool softmax_in_float = true);

}  // namespace vramfit::pytorch
