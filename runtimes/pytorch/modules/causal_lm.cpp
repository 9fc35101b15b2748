#include "runtimes/pytorch/modules/causal_lm.h"

#include <algorithm>

#include "runtimes/pytorch/ops/elementwise.h"
#include "runtimes/pytorch/ops/embedding.h"
#include "runtimes/pytorch/ops/linear.h"
#include "runtimes/pytorch/ops/loss.h"
#include "runtimes/pytorch/ops/view.h"
#include "runtimes/pytorch/tensor/checkpoint.h"

namespace vramfit::pytorch {

// __init__, in the order in which the families' modules allocate.
CausalLm::CausalLm(Context& context, const ModelConfig& config, const ModelSettings& settings)
    : context_(context), config_(config), settings_(settings) {
  const ScalarType type = settings.type;
  token_embedding_ = parameter(context, {config.vocab, config.hidden}, type);
  if (config.family == "gemma") embed_scale_ = empty(context, {}, type, Category::Parameters);
  if (config.learned_positions()) {
    position_embedding_ = parameter(context, {config.max_positions, config.hidden}, type);
  }
  for (std::int64_t i = 0; i < config.layers; ++i) {
    layers_.push_back(make_layer(context, config, settings));
  }
  norm_ = Norm(context, norm_kind(config), config.hidden, type);
  if (config.rope) rotary_.emplace(context, config.rotary_dim());
  // A model made from its config has a head of its own until tie_weights drops it, which leaves a
  // free segment behind. One to generate with comes from a file, and never has it.
  if (!config.tied_head || settings.training) {
    head_ = Linear(context, config.hidden, config.vocab, config.head_bias, type);
  }
  if (config.tied_head) head_.weight = token_embedding_;
}

Tensor CausalLm::embed_tokens(const Tensor& ids) const {
  Tensor result = embedding(token_embedding_, ids);
  if (embed_scale_.defined()) result = mul(result, embed_scale_);
  // enable_input_require_grads, which PEFT needs under checkpointing.
  if (lora_ && settings_.checkpoint) result.impl()->requires_grad = true;
  return result;
}

Tensor CausalLm::run_layers(Tensor hidden, const LayerInputs& shared) const {
  LayerInputs inputs = shared;
  for (const auto& layer : layers_) {
    if (settings_.checkpoint && settings_.training) {
      const auto forward = [&layer, inputs](const Tensor& x) { return layer->forward(x, inputs); };
      hidden = checkpoint(context_, forward, hidden);
    } else {
      hidden = layer->forward(hidden, inputs);
    }
    ++inputs.index;
  }
  return hidden;
}

// LlamaModel.forward, GPT2Model.forward and their like; what those keep in local variables until
// they return is kept here.
Tensor CausalLm::hidden_states(const Tensor& ids, const Step& step) const {
  const Tensor inputs_embeds = embed_tokens(ids);
  Tensor positions = step.positions;
  if (!positions.defined()) {
    // torch.arange(tokens) + past_seen_tokens
    const Tensor range = empty(context_, {ids.size(1)}, ScalarType::Long, Category::Inputs);
    positions = unsqueeze(empty(context_, {ids.size(1)}, ScalarType::Long, Category::Inputs), 0);
  }
  Tensor hidden = inputs_embeds;
  Tensor position_embeds;
  if (position_embedding_.defined()) {
    position_embeds = embedding(position_embedding_, positions);
    hidden = add(inputs_embeds, position_embeds);
  }
  MaskRequest request;
  request.batch = ids.size(0);
  request.queries = ids.size(1);
  request.keys = step.cache != nullptr ? step.cache->keys(ids.size(1)) : ids.size(1);
  request.cached = step.cache != nullptr;
  request.padding = step.attention_mask;
  request.padded = step.padded;
  request.type = inputs_embeds.type();
  if (config_.family == "mistral") request.window = config_.sliding_window;
  LayerInputs inputs;
  inputs.mask = create_causal_mask(context_, settings_.attention, request);
  inputs.cache = step.cache;
  inputs.position_ids = positions;
  hidden = dropout(hidden, config_.dropout.embedding, settings_.training);
  if (rotary_) inputs.positions = (*rotary_)(hidden, positions);
  hidden = run_layers(std::move(hidden), inputs);
  return norm_(hidden);
}

CausalLm::Output CausalLm::forward(const Tensor& ids, bool with_labels) const {
  const Tensor hidden = hidden_states(ids, {});
  Output output;
  output.logits = head_(hidden);
  if (with_labels) output.loss = causal_lm_loss(output.logits, ids);
  return output;
}

Tensor CausalLm::forward(const Tensor& ids, const Step& step) const {
  const Tensor hidden = hidden_states(ids, step);
  // logits_to_keep = 1: hidden_states[:, -1:, :]
  return head_(slice(hidden, 1, 1));
}

void CausalLm::add_lora(std::int64_t rank, const std::vector<std::string>& targets) {
  lora_ = true;
  for (const Tensor& parameter : trainable()) parameter.impl()->requires_grad = false;
  std::vector<Lora*> adapters;
  for (const auto& layer : layers_) {
    for (const NamedLinear& projection : layer->projections()) {
      if (std::find(targets.begin(), targets.end(), projection.name) == targets.end()) continue;
      Linear& linear = *projection.linear;
      linear.lora = Lora{parameter(context_, {rank, linear.in()}, settings_.type),
                         parameter(context_, {linear.out(), rank}, settings_.type)};
      adapters.push_back(&*linear.lora);
    }
  }
  if (!is_half(settings_.type)) return;
  // cast_adapter_dtype: adapters of 16-bit models are kept in fp32.
  for (Lora* adapter : adapters) {
    for (Tensor* weight : {&adapter->a, &adapter->b}) {
      *weight = parameter(context_, weight->sizes(), ScalarType::Float);
    }
  }
}

std::vector<std::string> projection_names(const ModelConfig& config) {
  if (config.family == "gpt2") return {"c_attn", "c_proj", "c_fc"};
  if (config.family == "phi") return {"q_proj", "k_proj", "v_proj", "dense", "fc1", "fc2"};
  if (config.family == "gpt_neox") {
    return {"query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"};
  }
  return {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};
}

std::vector<Tensor> CausalLm::trainable() const {
  std::vector<Tensor> all = {token_embedding_, position_embedding_};
  for (const auto& layer : layers_) {
    for (const Tensor& parameter : layer->parameters()) all.push_back(parameter);
    for (const NamedLinear& projection : layer->projections()) {
      if (!projection.linear->lora) continue;
      all.push_back(projection.linear->lora->a);
      all.push_back(projection.linear->lora->b);
    }
  }
  all.push_back(norm_.weight);
  all.push_back(norm_.bias);
  if (!config_.tied_head) all.push_back(head_.weight);
  all.push_back(head_.bias);
  all.erase(
      std::remove_if(all.begin(), all.end(),
                     [](const Tensor& t) { return !t.defined() || !t.impl()->requires_grad; }),
      all.end());
  return all;
}

}  // namespace vramfit::pytorch
