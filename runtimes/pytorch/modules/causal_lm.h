#pragma once

#include <optional>
#include <string>

#include "runtimes/pytorch/modules/decoder.h"

namespace vramfit::pytorch {

/// A family's ...ForCausalLM: embeddings, layers, head.
class CausalLm {
 public:
  CausalLm(Context& context, const ModelConfig& config, const ModelSettings& settings);

  struct Output {
    Tensor logits;
    Tensor loss;
  };
  /// model(ids, labels=ids)
  Output forward(const Tensor& ids, bool with_labels) const;

  /// What generate() passes along.
  struct Step {
    Tensor attention_mask;  ///< (batch, keys), long
    Tensor positions;       ///< (batch, tokens), long
    bool padded = false;    ///< the mask hides something
    DynamicCache* cache = nullptr;
  };
  /// Logits of the last token.
  Tensor forward(const Tensor& ids, const Step& step) const;

  /// Freezes the model and adds adapters of this rank to projections of these names.
  void add_lora(std::int64_t rank, const std::vector<std::string>& targets);

  /// model.parameters(), those that want a gradient.
  std::vector<Tensor> trainable() const;

 private:
  Tensor embed_tokens(const Tensor& ids) const;
  Tensor hidden_states(const Tensor& ids, const Step& step) const;
  Tensor run_layers(Tensor hidden, const LayerInputs& inputs) const;

  Context& context_;
  ModelConfig config_;
  ModelSettings settings_;
  bool lora_ = false;
  Tensor token_embedding_;
  Tensor position_embedding_;
  Tensor embed_scale_;
  std::vector<std::unique_ptr<DecoderLayer>> layers_;
  Norm norm_;
  std::optional<RotaryEmbedding> rotary_;
  Linear head_;
};

/// What LoRA can adapt in a layer, by the names that target_modules have.
std::vector<std::string> projection_names(const ModelConfig& config);

}  // namespace vramfit::pytorch
