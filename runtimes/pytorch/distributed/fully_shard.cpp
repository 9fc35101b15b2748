#include "runtimes/pytorch/distributed/fully_shard.h"

#include <algorithm>

#include "runtimes/pytorch/tensor/graph.h"

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

}  // namespace

FullyShard::FullyShard(Context& context, CausalLm& model, const Distributed& options)
    : context_(context), model_(model), root_(context, comm_, options, false) {
  context.libraries.use_collectives();  // DTensor's random numbers are seeded alike
  std::vector<const TensorImpl*> seen;
  for (const CausalLm::NamedModule& named : model.named_modules()) {
    const LayerScope acts(context, static_cast<int>(named.layer.value_or(kNoLayer)));
    const auto layer = static_cast<std::size_t>(named.layer.value_or(0));
    if (named.layer && layer == layers_.size()) {
      layers_.push_back(
          std::make_unique<FsdpParamGroup>(context, comm_, options, options.reshard_after_forward));
    }
    FsdpParamGroup& group = named.layer ? *layers_[layer] : root_;
    std::visit(
        [&](auto* module) {
          const auto add = [&](const Tensor& parameter) {
            if (!parameter.defined()) return;
            const bool tied = std::find(seen.begin(), seen.end(), parameter.impl()) != seen.end();
            seen.push_back(parameter.impl());
            if (!tied) return group.add(parameter);
            untied_head_ = empty(context, root_.parameters().front().sharded.sizes(),
                                 options.stored, Category::Parameters);
          };
          add(module->weight);
          if constexpr (requires { module->bias; }) add(module->bias);
        },
        named.module);
  }
  for (Tensor* buffer : model.buffers()) {
    *buffer = empty(context, buffer->sizes(), buffer->type(), Category::Parameters);
  }
  model.set_hooks(this);
}

FullyShard::~FullyShard() { model_.set_hooks(nullptr); }

// In the order of the model's parameters, where the root's surround the layers'.
std::vector<Tensor> FullyShard::trainable() const {
  std::vector<Tensor> all;
  for (const Tensor& parameter : model_.trainable()) {
    const auto add_from = [&](const FsdpParamGroup& group) {
      for (const FsdpParam& own : group.parameters()) {
        if (own.unsharded.impl() == parameter.impl()) all.push_back(own.sharded);
      }
    };
    add_from(root_);
    for (const auto& layer : layers_) add_from(*layer);
  }
  return all;
}

void FullyShard::after_forward(const CausalLm::Output& output) {
  root_.post_forward();
  comm_.all_gather_state.reset();
  for (const Tensor& tensor : {output.loss, output.logits}) {
    register_hook(tensor, [this] { root_.pre_backward(); });
  }
}

// _root_post_backward_final_callback
void FullyShard::after_backward() {
  root_.finalize_backward();
  for (const auto& layer : layers_) layer->finalize_backward();
  comm_.post_forward_order.clear();
  comm_.reduce_scatter_state.reset();
}

// Under activation checkpointing a layer's hooks run again, and find it gathered.
Tensor FullyShard::before_layer(std::size_t layer, const Tensor& hidden) {
  FsdpParamGroup& group = *layers_[layer];
  if (group.in_backward()) return hidden;
  group.pre_forward();
  return register_post_backward(context_, group, hidden);
}

void FullyShard::after_layer(std::size_t layer, const Tensor& hidden) {
  FsdpParamGroup& group = *layers_[layer];
  if (group.in_backward()) return;
  group.post_forward();
  register_hook(hidden, [&group] { group.pre_backward(); });
}

}  // namespace vramfit::pytorch
