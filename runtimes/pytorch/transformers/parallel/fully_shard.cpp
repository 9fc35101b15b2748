#include "runtimes/pytorch/transformers/parallel/fully_shard.h"

#include <algorithm>
#include <unordered_map>

#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

/// Tensor.register_hook
void register_hook(const Tensor& tensor, std::function<void()> hook) {
  tensor.impl()->grad_fn->hook = std::make_unique<std::function<void()>>(std::move(hook));
}

/// RegisterPostBackwardFunction: runs once the gradient of what it passes on is complete.
Tensor register_post_backward(Context& context, FsdpParamGroup& group, const Tensor& input) {
  const auto make_backward = [&group] {
    return [&group](Node&, Gradients& grads) -> Gradients {
      group.post_backward();
      return {std::move(grads[0])};
    };
  };
  const Ref<Node> node = make_node(context, make_backward, input);
  if (!node) return input;
  Tensor output = input.detach();
  set_history(output, node);
  return output;
}

int layer_of(const CausalLm::NamedModule& named) {
  return static_cast<int>(named.layer.value_or(kNoLayer));
}

}  // namespace

FullyShard::FullyShard(Context& context, CausalLm& model, const Distributed& options)
    : context_(context),
      model_(model),
      options_(options),
      root_(context, comm_, options, false),
      embedding_(context, comm_, options, options.reshard_after_forward),
      head_(context, comm_, options, false) {
  context.libraries.use_collectives();  // DTensor's random numbers are seeded alike
  model.set_hooks(this);
  const Modules modules = model.named_modules();
  if (!model.parameters().front().is_meta()) {
    shard_in_place(modules);
    return;
  }
  options.by_accelerate ? take_from_host(modules) : to_empty(modules);
  for (Tensor* buffer : model.buffers()) {
    *buffer = empty(context, buffer->sizes(), buffer->type(), Category::Parameters);
  }
}

FullyShard::~FullyShard() { model_.set_hooks(nullptr); }

FsdpParamGroup& FullyShard::group_of(const CausalLm::NamedModule& named) {
  if (named.layer) {
    const auto layer = static_cast<std::size_t>(*named.layer);
    if (layer == layers_.size()) {
      layers_.push_back(
          std::make_unique<Group>(context_, comm_, options_, options_.reshard_after_forward));
    }
    return *layers_[layer];
  }
  if (!options_.by_accelerate) return root_;
  if (std::holds_alternative<Norm*>(named.module)) return head_;
  if (std::holds_alternative<Linear*>(named.module)) return head_;
  const bool of_tokens = parameters_of(named).front().impl() == model_.parameters().front().impl();
  return !of_tokens ? root_ : embeds_with_head() ? head_ : embedding_;
}

FsdpParam* FullyShard::add(Group& group, const Tensor& parameter) {
  for (Group* owner : groups()) {
    if (FsdpParam* own = owner->find(parameter)) return own;
  }
  group.add(parameter, stored(parameter));
  return nullptr;
}

ScalarType FullyShard::stored(const Tensor& parameter) const {
  if (!options_.mixed_precision) return parameter.type();
  const bool is_adapter = model_.has_lora() && parameter.requires_grad();
  return is_adapter ? ScalarType::Float : options_.stored;
}

// Module by module (Module._apply): a tied head is the embedding's parameter, which is made anew;
// the shard that it had is freed once the new one is there.
void FullyShard::to_empty(const Modules& modules) {
  for (const CausalLm::NamedModule& named : modules) {
    const LayerScope acts(context_, layer_of(named));
    Group& group = group_of(named);
    for (const Tensor& parameter : parameters_of(named)) {
      FsdpParam* own = add(group, parameter);
      if (own != nullptr) own->sharded = group.shard_of(parameter, stored(parameter));
    }
  }
}

std::vector<FullyShard::Members> FullyShard::by_group(const Modules& modules) {
  std::vector<Members> all;
  for (const CausalLm::NamedModule& named : modules) {
    Group* group = &group_of(named);
    auto found = std::find_if(all.begin(), all.end(),
                              [group](const Members& one) { return one.group == group; });
    if (found == all.end()) found = all.insert(all.end(), {group, {}});
    found->modules.push_back(&named);
  }
  std::stable_partition(all.begin(), all.end(),
                        [](const Members& one) { return one.modules.front()->layer.has_value(); });
  return all;
}

// A group is on the GPU as a whole until it is sharded (_move_states_to_device).
void FullyShard::take_from_host(const Modules& modules) {
  for (const Members& members : by_group(modules)) {
    const LayerScope acts(context_, layer_of(*members.modules.front()));
    std::vector<Tensor> whole;
    for (const CausalLm::NamedModule* named : members.modules) {
      for (const Tensor& parameter : parameters_of(*named)) {
        whole.push_back(
            empty(context_, parameter.sizes(), stored(parameter), Category::Parameters));
      }
    }
    for (const CausalLm::NamedModule* named : members.modules) {
      for (const Tensor& parameter : parameters_of(*named)) add(*members.group, parameter);
    }
  }
}

// What was whole goes once all of its group is sharded.
void FullyShard::shard_in_place(const Modules& modules) {
  for (const Members& members : by_group(modules)) {
    const LayerScope acts(context_, layer_of(*members.modules.front()));
    for (const CausalLm::NamedModule* named : members.modules) {
      for (const Tensor& parameter : parameters_of(*named)) add(*members.group, parameter);
    }
    for (const FsdpParam& own : members.group->parameters()) {
      own.unsharded.impl()->storage->free_memory();
    }
  }
}

std::vector<FsdpParamGroup*> FullyShard::groups() {
  std::vector<Group*> all = {&root_, &embedding_};
  for (const auto& layer : layers_) all.push_back(layer.get());
  all.push_back(&head_);
  return all;
}

std::vector<Tensor> FullyShard::trainable() {
  std::unordered_map<const TensorImpl*, Tensor> shards;
  for (const Group* group : groups()) {
    for (const FsdpParam& own : group->parameters()) {
      shards.emplace(own.unsharded.impl(), own.sharded);
    }
  }
  std::vector<Tensor> all;
  for (const Tensor& parameter : model_.trainable()) all.push_back(shards.at(parameter.impl()));
  return all;
}

// Under activation checkpointing a layer's hooks run again, and find it gathered.
void FullyShard::pre_forward(Group& group) {
  if (!group.empty() && !group.in_backward()) group.pre_forward();
}

void FullyShard::post_forward(Group& group, const Tensor& output) {
  if (group.empty() || group.in_backward()) return;
  group.post_forward();
  if (output.requires_grad()) register_hook(output, [&group] { group.pre_backward(); });
}

void FullyShard::after_forward(const CausalLm::Output& output) {
  if (!root_.empty()) root_.post_forward();
  comm_.all_gather_state.reset();
  if (root_.empty()) return;
  for (const Tensor& tensor : {output.loss, output.logits}) {
    register_hook(tensor, [this] { root_.pre_backward(); });
  }
}

// _root_post_backward_final_callback
void FullyShard::after_backward() {
  for (Group* group : groups()) {
    if (!group->empty()) group->finalize_backward();
  }
  comm_.post_forward_order.clear();
  comm_.reduce_scatter_state.reset();
}

Tensor FullyShard::before_layer(std::size_t layer, const Tensor& hidden) {
  Group& group = *layers_[layer];
  if (group.in_backward()) return hidden;
  group.pre_forward();
  return register_post_backward(context_, group, hidden);
}

void FullyShard::after_layer(std::size_t layer, const Tensor& hidden) {
  post_forward(*layers_[layer], hidden);
}

// A group's hook runs before the first of its modules alone; an embedding's input has no gradient.
Tensor FullyShard::before_head(const Tensor& hidden) {
  if (head_.empty() || embeds_with_head()) return hidden;
  pre_forward(head_);
  return register_post_backward(context_, head_, hidden);
}

}  // namespace vramfit::pytorch
