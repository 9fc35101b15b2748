#pragma once

#include "runtimes/pytorch/transformers/modules/causal_lm.h"
#include "runtimes/pytorch/transformers/modules/family.h"

namespace vramfit::pytorch {

/// A model of a family whose code is written down here by hand.
class WrittenLm final : public CausalLm {
 public:
  WrittenLm(Context& context, const Family& family, const ModelConfig& config,
            const ModelSettings& settings);

  SpecialTokens special_tokens() const override;
  Output forward(const Tensor& ids, bool with_labels) const override;
  std::unique_ptr<GenerationCache> make_cache(bool is_static,
                                              std::int64_t most_tokens) const override;
  Tensor forward(const Tensor& ids, const StepInputs& step) const override;
  /// Of a part of a model: hidden states or logits, of tokens or of hidden states.
  Tensor forward_part(const Tensor& x) const;
  /// The head comes last.
  std::vector<NamedModule> named_modules() override;
  std::vector<Tensor*> buffers() override;
  void tie_weights() override;

 private:
  /// What layers of one kind share: those that slide, or the others.
  struct Shared {
    Tensor mask;
    PositionEmbeddings positions;
  };
  struct SharedByKind {
    Shared full;
    Shared sliding;
  };

  Tensor embed_tokens(const Tensor& ids) const;
  /// As make_cache() made it; null: none.
  static KvCache* cache_of(const StepInputs& step);
  void make_masks(const Tensor& embeds, const StepInputs& step, SharedByKind& shared) const;
  void rotate_positions(const Tensor& hidden, const Tensor& positions, SharedByKind& shared) const;
  Tensor hidden_states(const Tensor& ids, const StepInputs& step) const;
  int gpu_of_layer(std::size_t layer) const;
  Tensor run_layers(Tensor hidden, LayerInputs inputs, const SharedByKind& shared) const;
  Tensor logits(const Tensor& hidden) const;

  const Family& family_;
  Embedding token_embedding_;
  std::optional<Embedding> position_embedding_;
  Tensor embed_scale_;
  std::vector<std::unique_ptr<DecoderLayer>> layers_;
  Norm norm_;
  std::vector<RotaryEmbedding> rotary_;  ///< one, or one for each kind of layer
  Linear head_;
};

}  // namespace vramfit::pytorch
