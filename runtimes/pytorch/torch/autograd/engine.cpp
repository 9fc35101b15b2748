#include "runtimes/pytorch/torch/autograd/engine.h"

#include <algorithm>
#include <vector>

#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/reduction.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

/// DTensors of which one is a shard: what the other has of that is cloned first, and nothing is
/// added in place (can_accumulate_inplace).
Tensor add_whole(const Tensor& part, const Tensor& whole) {
  const Tensor own = empty(whole.context(), part.sizes(), whole.type());
  return add(part, own);
}

/// InputBuffer::accumulate, with gradients of gradients off.
void add_to_buffer(Tensor& buffer, Tensor grad) {
  if (!buffer.defined()) {
    buffer = std::move(grad);
    return;
  }
  if (grad.impl()->is_whole) {
    buffer = add_whole(buffer, grad);
    return;
  }
  if (buffer.is_sole_owner() && buffer.is_non_overlapping_and_dense()) return;  // add_
  buffer = add(buffer, grad);
}

void count_dependencies(std::span<const Edge> roots) {
  std::vector<Node*> stack;
  for (const Edge& root : roots) {
    if (root.node->dependencies++ == 0) stack.push_back(root.node.get());
  }
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (std::size_t i = 0; i < node->next.size(); ++i) {
      Node* next = node->next[i].node.get();
      if (next == nullptr) continue;
      if (next->dependencies++ == 0) stack.push_back(next);
    }
  }
}

/// validate_outputs: a gradient is summed down to its input's size where that was broadcast, and
/// gets its type.
void fit_to_inputs(const Node& node, Gradients& grads) {
  for (std::size_t i = 0; i < grads.size(); ++i) {
    Tensor& grad = grads[i];
    if (!grad.defined() || !node.wants(static_cast<int>(i)) || grad.impl()->is_whole) continue;
    if (grad.sizes() != node.input_sizes[i]) grad = sum_to(std::move(grad), node.input_sizes[i]);
    if (grad.type() != node.input_types[i]) grad = to(grad, node.input_types[i]);
  }
}

/// call_function: the incoming gradients live until it returns. Generated functions make nothing of
/// nothing (any_grad_defined).
Gradients call(Node& node) {
  Gradients incoming = std::move(node.buffer);
  if (node.hook != nullptr) (*node.hook)();
  bool any_defined = false;
  for (std::size_t i = 0; i < incoming.size(); ++i) any_defined |= incoming[i].defined();
  if (!any_defined) return {};
  Gradients outgoing = node.apply(incoming);
  fit_to_inputs(node, outgoing);
  return outgoing;
}

struct RunsLater {
  bool operator()(const Ref<Node>& a, const Ref<Node>& b) const {
    return a->sequence < b->sequence;
  }
};

/// A gradient comes to where it goes, if there is one.
void hand_on(const Edge& edge, Tensor grad, std::vector<Ref<Node>>& ready) {
  Node& next = *edge.node;
  if (grad.defined()) {
    add_to_buffer(next.buffer[static_cast<std::size_t>(edge.index)], std::move(grad));
  }
  if (--next.dependencies == 0) {
    ready.push_back(edge.node);
    std::push_heap(ready.begin(), ready.end(), RunsLater{});
  }
}

}  // namespace

void backward(const Tensor& loss) {
  // Its handles of cuBLAS, and with them its workspace, are its own.
  const Setting thread(loss.context().backward_thread, true);
  const Tensor one = empty(loss.context(), loss.sizes(), loss.type());  // ones_like
  backward(loss, one);
}

void backward(const Tensor& output, Tensor grad) {
  const Edge root = gradient_edge(output);
  backward(output.context(), {&root, 1}, {&grad, 1});
}

void backward(Context& context, std::span<const Edge> roots, std::span<Tensor> grads) {
  const Setting no_grad(context.grad_enabled, false);
  count_dependencies(roots);
  std::vector<Ref<Node>> ready;
  for (std::size_t i = 0; i < roots.size(); ++i) hand_on(roots[i], std::move(grads[i]), ready);
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), RunsLater{});
    const LayerScope layer(context, ready.back()->layer);
    const Ref<Node> node = std::move(ready.back());
    ready.pop_back();
    Gradients given = call(*node);
    node->release();
    for (std::size_t i = 0; i < node->next.size(); ++i) {
      if (node->next[i].node) hand_on(node->next[i], std::move(given[i]), ready);
    }
  }
}

}  // namespace vramfit::pytorch
