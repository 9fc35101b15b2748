#include "runtimes/pytorch/transformers/modules/written_lm.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/config/json_reader.h"
#include "runtimes/pytorch/torch/autograd/reentrant_checkpoint.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/linear.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/checkpoint.h"
#include "runtimes/pytorch/transformers/modules/locals.h"
#include "runtimes/pytorch/transformers/modules/loss.h"
#include "runtimes/pytorch/trl/fused_lm_head.h"

namespace vramfit::pytorch {
namespace {

/// 2 where some layers slide and some do not.
std::size_t layer_kinds(const ModelConfig& config) {
  const auto sliding = std::count(config.sliding_layers.begin(), config.sliding_layers.end(), true);
  return sliding == 0 || sliding == config.layers ? 1 : 2;
}

/// Its config.json, empty where it was read from none.
nlohmann::json config_object(const ModelConfig& config) {
  const ModelSource* source = config.source.get();
  if (source == nullptr || source->config.empty()) return nlohmann::json::object();
  return parse_json_object(source->config, source->name, "a Hugging Face config.json");
}

}  // namespace

// __init__, in the order in which the families' modules allocate.
WrittenLm::WrittenLm(Context& context, const Family& family, const ModelConfig& config,
                     const ModelSettings& settings)
    : CausalLm(context, config, settings), family_(family) {
  const ScalarType type = settings.type;
  if (settings.first) token_embedding_ = Embedding(context, config.vocab, config.hidden, type);
  if (family.embedding_scale == EmbeddingScale::Buffer) {
    embed_scale_ = buffer(context, {}, type);
  }
  if (config.learned_positions()) {
    position_embedding_ = Embedding(context, config.max_positions, config.hidden, type);
  }
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const LayerScope acts(context, static_cast<int>(i));
    layers_.push_back(family.make_layer(context, family, config, settings));
  }
  const auto make_norm = [&] {
    if (settings.last) norm_ = Norm(context, family.norm, config.hidden, type);
  };
  if (family.norm_before_rotary) make_norm();
  const std::size_t kinds = family.rotary_by_layer_type ? layer_kinds(config) : 1;
  for (std::size_t i = 0; config.rope && i < kinds; ++i) {
    rotary_.emplace_back(context, config.rotary_dim());
  }
  if (!family.norm_before_rotary) make_norm();
  // post_init, once: what it initialized it marks, and the whole model's skips.
  for (const RotaryEmbedding& each : rotary_) each.initialize();
  // A model made from its config has a head of its own until tie_weights drops it, which leaves a
  // free segment behind. One to generate with comes from a file, and never has it.
  if (settings.last && (!config.tied_head || settings.training)) {
    head_ = Linear(context, config.hidden, config.vocab, config.head_bias, type);
  }
  tie_weights();
  // A tied head's bias is its own, in a file, too: _adjust_bias pads it by nothing, which copies
  // it.
  if (settings.last && config.tied_head && config.head_bias)
    head_.bias = parameter(context, {config.vocab}, type);
}

void WrittenLm::tie_weights() {
  if (config_.tied_head) head_.weight = token_embedding_.weight;
}

std::vector<CausalLm::NamedModule> WrittenLm::named_modules() {
  const PartNames& parts = family_.parts;
  const auto name = [&](const char* part) { return std::string(parts.base) + "." + part; };
  std::vector<NamedModule> all = {{name(parts.embedding), &token_embedding_}};
  if (position_embedding_) all.push_back({name(parts.positions), &*position_embedding_});
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    for (const Child& child : layers_[i]->children()) {
      NamedModule named{name(parts.layers) + "." + std::to_string(i) + "." + child.path, {}};
      std::visit([&named](auto* module) { named.module = module; }, child.module);
      named.layer = static_cast<std::int64_t>(i);
      named.input = child.input;
      all.push_back(std::move(named));
    }
  }
  all.push_back({name(parts.norm), &norm_});
  all.push_back({parts.head, &head_});
  return all;
}

std::vector<Tensor*> WrittenLm::buffers() {
  std::vector<Tensor*> all;
  if (embed_scale_.defined()) all.push_back(&embed_scale_);
  for (RotaryEmbedding& rotary : rotary_) {
    for (Tensor* buffer : rotary.buffers()) all.push_back(buffer);
  }
  return all;
}

Tensor WrittenLm::embed_tokens(const Tensor& ids) const {
  const OnGpu gpu(context_, dispatch(), dispatch_ ? dispatch_->embedding : 0);
  if (hooks_ != nullptr) hooks_->before_embedding();
  Tensor result = token_embedding_(ids);
  if (hooks_ != nullptr) hooks_->after_embedding(result);
  if (embed_scale_.defined()) {
    result = mul(result, to(embed_scale_, token_embedding_.weight.type()));
  }
  // enable_input_require_grads, which PEFT needs under checkpointing.
  if (lora_ && settings_.checkpoint != GradientCheckpointing::None)
    result.impl()->requires_grad = true;
  if (family_.embedding_scale == EmbeddingScale::Scalar) result = mul_scalar(result);
  return result;
}

int WrittenLm::gpu_of_layer(std::size_t layer) const {
  return dispatch_ ? dispatch_->layers[layer] : 0;
}

Tensor WrittenLm::run_layers(Tensor hidden, LayerInputs of_all, const SharedByKind& shared) const {
  for (const auto& layer : layers_) {
    LayerInputs inputs = of_all;
    const LayerScope acts(context_, static_cast<int>(inputs.index));
    const OnGpu gpu(context_, dispatch(), gpu_of_layer(inputs.index));
    const bool slides = config_.slides(static_cast<std::int64_t>(inputs.index));
    const Shared& own = slides ? shared.sliding : shared.full;
    hidden = moved(hidden);
    inputs.mask = moved(own.mask);
    inputs.positions = {moved(own.positions.cos), moved(own.positions.sin)};
    inputs.position_ids = moved(inputs.position_ids);
    const auto forward = [&layer, inputs, hooks = hooks_](const Tensor& x) {
      if (hooks == nullptr) return layer->forward(x, inputs);
      Tensor output = layer->forward(hooks->before_layer(inputs.index, x), inputs);
      hooks->after_layer(inputs.index, output);
      return output;
    };
    switch (settings_.checkpoint) {
      case GradientCheckpointing::None:
        hidden = forward(hidden);
        break;
      case GradientCheckpointing::Full:
        hidden = checkpoint(context_, forward, hidden);
        break;
      case GradientCheckpointing::Reentrant:
        hidden = reentrant_checkpoint(context_, forward, hidden);
        break;
    }
    ++of_all.index;
  }
  return hidden;
}

// The one for padding is always named; the others are, unless its config says that there is none.
CausalLm::SpecialTokens WrittenLm::special_tokens() const {
  const nlohmann::json object = config_object(config_);
  const auto is_named = [&object](const char* key) {
    const auto found = object.find(key);
    return found == object.end() || !found->is_null();
  };
  const auto ending = object.find("eos_token_id");
  // None of these classes has padding's for it where its config names none.
  const bool padding = ending != object.end() && *ending == kPadding;
  const bool ends = is_named("eos_token_id");
  return {1 + is_named("bos_token_id") + ends, ends, padding};
}

std::unique_ptr<GenerationCache> WrittenLm::make_cache(bool is_static,
                                                       std::int64_t most_tokens) const {
  if (!is_static) return std::make_unique<DynamicCache>(config_);
  return std::make_unique<StaticCache>(config_, most_tokens);
}

KvCache* WrittenLm::cache_of(const StepInputs& step) { return static_cast<KvCache*>(step.cache); }

void WrittenLm::make_masks(const Tensor& embeds, const StepInputs& step,
                           SharedByKind& shared) const {
  const std::int64_t queries = embeds.size(1);
  const KvCache* cache = cache_of(step);
  const auto mask = [&](std::optional<std::int64_t> window) {
    MaskRequest request;
    request.batch = embeds.size(0);
    request.queries = queries;
    request.keys = cache != nullptr ? cache->keys(queries, window.has_value()) : queries;
    request.cached = cache != nullptr;
    request.empty = request.cached && cache->is_empty();
    request.room = request.cached && cache->has_room();
    request.padding = step.attention_mask;
    request.padded = step.padded;
    request.type = embeds.type();
    request.window = window;
    return create_causal_mask(context_, settings_.attention, request);
  };
  const auto& window = config_.sliding_window;
  if (family_.masks_by_layer_type) {
    shared.full.mask = mask({});
    if (window) shared.sliding.mask = mask(window);
  } else {
    shared.full.mask = shared.sliding.mask = mask(window);
  }
}

void WrittenLm::rotate_positions(const Tensor& hidden, const Tensor& positions,
                                 SharedByKind& shared) const {
  if (rotary_.empty()) return;
  const OnGpu gpu(context_, dispatch(), dispatch_ ? dispatch_->norm : 0);
  const Tensor arrived = moved(hidden);  // the module's forward takes it, for its type
  const Tensor arrived_positions = moved(positions);
  const ScalarType type = family_.rotates_in_float ? ScalarType::Float : hidden.type();
  shared.full.positions = shared.sliding.positions = rotary_.front()(arrived_positions, type);
  if (rotary_.size() > 1) shared.sliding.positions = rotary_.back()(arrived_positions, type);
}

// LlamaModel.forward, GPT2Model.forward and their like; what those keep in local variables until
// they return is kept here.
Tensor WrittenLm::hidden_states(const Tensor& ids, const StepInputs& step) const {
  Tensor inputs_embeds = settings_.first ? embed_tokens(ids) : ids;
  Tensor positions = step.positions;
  if (!positions.defined()) {
    // torch.arange(tokens) + past_seen_tokens
    const Tensor range = empty(context_, {ids.size(1)}, ScalarType::Long, Category::Inputs);
    positions = unsqueeze(empty(context_, {ids.size(1)}, ScalarType::Long, Category::Inputs), 0);
  }
  Tensor hidden = inputs_embeds;
  Tensor position_embeds;
  if (position_embedding_) {
    position_embeds = (*position_embedding_)(positions);
    hidden = add(inputs_embeds, position_embeds);
  }
  SharedByKind shared;
  make_masks(inputs_embeds, step, shared);
  LayerInputs inputs;
  inputs.cache = cache_of(step);
  inputs.position_ids = positions;
  hidden = dropout(hidden, config_.dropout.embedding, settings_.training);
  rotate_positions(hidden, positions, shared);
  hidden = run_layers(std::move(hidden), inputs, shared);
  if (!settings_.last) return hidden;
  const OnGpu gpu(context_, dispatch(), dispatch_ ? dispatch_->norm : 0);
  hidden = moved(hidden);
  Tensor result = norm_(hooks_ == nullptr ? hidden : hooks_->before_head(hidden));
  drop({&hidden, &positions, &inputs.position_ids, &inputs_embeds, &position_embeds});
  for (Shared* kind : {&shared.full, &shared.sliding}) {
    drop({&kind->mask, &kind->positions.cos, &kind->positions.sin});
  }
  return result;
}

Tensor WrittenLm::logits(const Tensor& hidden) const {
  const OnGpu gpu(context_, dispatch(), dispatch_ ? dispatch_->head : 0);
  Tensor result = head_(moved(hidden));
  if (hooks_ != nullptr) hooks_->after_head(result);
  return family_.finish_logits != nullptr ? family_.finish_logits(config_, std::move(result))
                                          : result;
}

CausalLm::Output WrittenLm::forward(const Tensor& ids, bool with_labels) const {
  const Tensor hidden = hidden_states(ids, {});
  Output output;
  if (settings_.fused_head) {
    output.loss = fused_lm_loss(hidden, head_.weight, ids);
    return output;
  }
  output.logits = logits(hidden);
  if (with_labels) output.loss = causal_lm_loss(output.logits, ids);
  return output;
}

Tensor WrittenLm::forward_part(const Tensor& x) const {
  const Tensor hidden = hidden_states(x, {});
  return settings_.last ? logits(hidden) : hidden;
}

Tensor WrittenLm::forward(const Tensor& ids, const StepInputs& step) const {
  const Tensor hidden = hidden_states(ids, step);
  // logits_to_keep = 1: hidden_states[:, -1:, :]
  return moved(logits(slice(hidden, 1, 1)));  // back to where the tokens are
}

}  // namespace vramfit::pytorch
