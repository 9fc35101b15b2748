#pragma once

#include <span>

#include "runtimes/pytorch/transformers/modules/decoder.h"

namespace vramfit::pytorch {

/// By what the token embedding is multiplied.
enum class EmbeddingScale : std::uint8_t {
  None,
  Buffer,  ///< a tensor of its own beside the weights: gemma's
  Scalar,
};

/// How checkpoints of a family call the parts of its ...ForCausalLM.
struct PartNames {
  const char* base = "model";
  const char* embedding = "embed_tokens";
  const char* positions = nullptr;
  const char* layers = "layers";
  const char* norm = "norm";
  const char* head = "lm_head";
};

/// What a family's modeling_<family>.py does otherwise than the others': a row each, beside its
/// layer in families/.
struct Family {
  const char* model_type;
  Norm::Kind norm;
  std::unique_ptr<DecoderLayer> (*make_layer)(Context&, const Family&, const ModelConfig&,
                                              const ModelSettings&);
  /// What LoRA can adapt in a layer, by the names that target_modules have.
  std::span<const char* const> projections;
  /// What PEFT adapts where none are named: peft/utils/constants.py, 0.21. Empty: it has no
  /// default.
  std::span<const char* const> lora_targets = {};
  PartNames parts = {};
  EmbeddingScale embedding_scale = EmbeddingScale::None;
  /// cos and sin stay in fp32.
  bool rotates_in_float = false;
  /// Its class makes the last norm before the rotary embedding.
  bool norm_before_rotary = true;
  /// Each kind of layer, sliding or not, has rotary frequencies of its own.
  bool rotary_by_layer_type = false;
  /// A mask for layers that do not slide always, and another where there is a window. Otherwise
  /// one for all layers.
  bool masks_by_layer_type = false;
  /// What becomes of the head's logits.
  Tensor (*finish_logits)(const ModelConfig&, Tensor logits) = nullptr;
};

/// make_layer of a family whose layer is an L.
template <typename L>
std::unique_ptr<DecoderLayer> make_layer(Context& context, const Family& family,
                                         const ModelConfig& config, const ModelSettings& settings) {
  return std::make_unique<L>(context, family, config, settings);
}

}  // namespace vramfit::pytorch
