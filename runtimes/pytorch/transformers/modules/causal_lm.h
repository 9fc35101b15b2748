#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtimes/pytorch/transformers/modules/decoder.h"
#include "runtimes/pytorch/transformers/modules/dispatch.h"

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

/// The token that generate() is told to pad with.
constexpr std::int64_t kPadding = 0;

/// A family's ...ForCausalLM: embeddings, layers, head.
class CausalLm {
 public:
  virtual ~CausalLm();
  CausalLm(const CausalLm&) = delete;
  CausalLm& operator=(const CausalLm&) = delete;

  struct Output {
    Tensor logits;
    Tensor loss;
    std::vector<Tensor> rest;  ///< what else goes with it
  };
  /// model(ids, labels=ids)
  virtual Output forward(const Tensor& ids, bool with_labels) const = 0;

  /// What generate() passes along.
  struct StepInputs {
    Tensor attention_mask;             ///< (batch, keys), long
    Tensor positions;                  ///< (batch, tokens), long; undefined: it takes none
    bool padded = false;               ///< the mask hides something
    GenerationCache* cache = nullptr;  ///< of make_cache()
  };
  /// What generate() knows of a model's special tokens.
  struct SpecialTokens {
    int count;          ///< those that are named, padding's among them
    bool ends = false;  ///< one of them ends a text
    /// Which is the one that prompts are padded with: generate() hides none of it then
    /// (_prepare_attention_mask_for_generation).
    bool ends_with_padding = false;
  };
  virtual SpecialTokens special_tokens() const = 0;
  /// Whether its forward does; generate() makes none otherwise.
  virtual bool takes_position_ids() const { return true; }
  /// Empty. `most_tokens`: what a static cache has room for. Throws BadInput where there is none
  /// such.
  virtual std::unique_ptr<GenerationCache> make_cache(bool is_static,
                                                      std::int64_t most_tokens) const = 0;
  /// Logits of the last token.
  virtual Tensor forward(const Tensor& ids, const StepInputs& step) const = 0;

  /// A module with parameters, by its name in a checkpoint: "model.layers.3.mlp.up_proj".
  struct NamedModule {
    std::string name;
    std::variant<Embedding*, Linear*, Norm*> module;
    std::optional<std::int64_t> layer = {};  ///< the block it is in
    LinearInput input = LinearInput::Stream;
  };
  /// In the order of named_modules().
  virtual std::vector<NamedModule> named_modules() = 0;
  /// In the order of named_buffers().
  virtual std::vector<Tensor*> buffers() = 0;
  virtual void tie_weights() = 0;
  bool is_tied() const { return config_.tied_head; }

  /// peft.prepare_model_for_kbit_training: freezes the model, keeps in fp32 what is not quantised,
  /// and empties the allocator's cache.
  void prepare_for_kbit_training();
  /// Freezes the model and adds adapters of this rank to projections of these names.
  /// `upcast`: what would be in 16 bits is in fp32 (PEFT's autocast_adapter_dtype).
  void add_lora(std::int64_t rank, const std::vector<std::string>& targets, double dropout,
                bool upcast);
  bool has_lora() const { return lora_; }

  /// All of it, each once.
  std::vector<Tensor> parameters();
  /// Those that want a gradient.
  std::vector<Tensor> trainable();

  /// Where its parts are, if not all on one GPU.
  void place(Dispatch parts) { dispatch_ = std::move(parts); }
  const Dispatch* dispatch() const { return dispatch_ ? &*dispatch_ : nullptr; }

  /// Must outlive the model or be taken away with null.
  void set_hooks(ModuleHooks* hooks) { hooks_ = hooks; }

 protected:
  CausalLm(Context& context, const ModelConfig& config, const ModelSettings& settings);

  Context& context_;
  ModelConfig config_;
  ModelSettings settings_;
  ModuleHooks* hooks_ = nullptr;
  std::optional<Dispatch> dispatch_;
  bool lora_ = false;

 private:
  void freeze();
};

/// A module's own, as they lie there: of a quantised weight what stands for it.
std::vector<Tensor> parameters_of(const CausalLm::NamedModule& named);

}  // namespace vramfit::pytorch
