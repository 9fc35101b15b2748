#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtimes/pytorch/transformers/modules/dispatch.h"
#include "runtimes/pytorch/transformers/modules/family.h"

namespace vramfit::pytorch {

/// What is registered on parts of a model: nn.Module's register_forward_pre_hook and
/// register_forward_hook.
class ModuleHooks {
 public:
  virtual ~ModuleHooks() = default;
  virtual void before_embedding() {}
  virtual void after_embedding(const Tensor& /*embeds*/) {}
  /// The last norm and the head, taken as one: what the norm gets in place of `hidden`.
  virtual Tensor before_head(const Tensor& hidden) { return hidden; }
  virtual void after_head(const Tensor& /*logits*/) {}
  /// What the layer gets in place of `hidden`.
  virtual Tensor before_layer(std::size_t layer, const Tensor& hidden) = 0;
  virtual void after_layer(std::size_t layer, const Tensor& hidden) = 0;
};

/// A family's ...ForCausalLM: embeddings, layers, head.
class CausalLm {
 public:
  CausalLm(Context& context, const Family& family, const ModelConfig& config,
           const ModelSettings& settings);

  struct Output {
    Tensor logits;
    Tensor loss;
  };
  /// model(ids, labels=ids)
  Output forward(const Tensor& ids, bool with_labels) const;

  /// Of a part of a model: hidden states or logits, of tokens or of hidden states.
  Tensor forward_part(const Tensor& x) const;

  /// What generate() passes along.
  struct StepInputs {
    Tensor attention_mask;  ///< (batch, keys), long
    Tensor positions;       ///< (batch, tokens), long
    bool padded = false;    ///< the mask hides something
    KvCache* cache = nullptr;
  };
  /// Logits of the last token.
  Tensor forward(const Tensor& ids, const StepInputs& step) const;

  /// A module with parameters, by its name in a checkpoint: "model.layers.3.mlp.up_proj".
  struct NamedModule {
    std::string name;
    std::variant<Embedding*, Linear*, Norm*> module;
    std::optional<std::int64_t> layer = {};  ///< the block it is in
    LinearInput input = LinearInput::Stream;
  };
  /// The head comes last.
  std::vector<NamedModule> named_modules();
  /// In the order of named_buffers().
  std::vector<Tensor*> buffers();
  void tie_weights();
  bool is_tied() const { return config_.tied_head; }

  /// peft.prepare_model_for_kbit_training: freezes the model, keeps in fp32 what is not quantised,
  /// and empties the allocator's cache.
  void prepare_for_kbit_training();
  /// Freezes the model and adds adapters of this rank to projections of these names.
  /// `upcast`: what would be in 16 bits is in fp32 (PEFT's autocast_adapter_dtype).
  void add_lora(std::int64_t rank, const std::vector<std::string>& targets, double dropout,
                bool upcast);
  bool has_lora() const { return lora_; }

  std::vector<Tensor> parameters() const;
  /// Those that want a gradient.
  std::vector<Tensor> trainable() const;

  /// Where its parts are, if not all on one GPU.
  void place(Dispatch parts) { dispatch_ = std::move(parts); }
  const Dispatch* dispatch() const { return dispatch_ ? &*dispatch_ : nullptr; }

  /// Must outlive the model or be taken away with null.
  void set_hooks(ModuleHooks* hooks) { hooks_ = hooks; }

 private:
  void freeze();
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
  void make_masks(const Tensor& embeds, const StepInputs& step, SharedByKind& shared) const;
  void rotate_positions(const Tensor& hidden, const Tensor& positions, SharedByKind& shared) const;
  Tensor hidden_states(const Tensor& ids, const StepInputs& step) const;
  int gpu_of_layer(std::size_t layer) const;
  Tensor run_layers(Tensor hidden, LayerInputs inputs, const SharedByKind& shared) const;
  Tensor logits(const Tensor& hidden) const;

  Context& context_;
  const Family& family_;
  ModelConfig config_;
  ModelSettings settings_;
  ModuleHooks* hooks_ = nullptr;
  std::optional<Dispatch> dispatch_;
  bool lora_ = false;
  Embedding token_embedding_;
  std::optional<Embedding> position_embedding_;
  Tensor embed_scale_;
  std::vector<std::unique_ptr<DecoderLayer>> layers_;
  Norm norm_;
  std::vector<RotaryEmbedding> rotary_;  ///< one, or one for each kind of layer
  Linear head_;
};

/// A module's own, as they lie there: of a quantised weight what stands for it.
std::vector<Tensor> parameters_of(const CausalLm::NamedModule& named);

}  // namespace vramfit::pytorch
