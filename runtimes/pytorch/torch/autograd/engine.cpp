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

void count_dependencies(Node* root) {
  std::vector<Node*> stack = {root};
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (const Edge& edge : node->next) {
      Node* next = edge.node.get();
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

/// call_function: the incoming gradients live until it returns.
Gradients call(Node& node) {
  Gradients incoming = std::move(node.buffer);
  if (node.hook != nullptr) (*node.hook)();
  Gradients outgoing = node.apply(incoming);
  fit_to_inputs(node, outgoing);
  return outgoing;
}

struct RunsLater {
  bool operator()(const Ref<Node>& a, const Ref<Node>& b) const {
    return a->sequence < b->sequence;
  }
};

}  // namespace

void backward(const Tensor& loss) {
  // Its handles of cuBLAS, and with them its workspace, are its own.
  const Setting thread(loss.context().backward_thread, true);
  const Tensor one = empty(loss.context(), loss.sizes(), loss.type());  // ones_like
  backward(loss, one);
}

void backward(const Tensor& output, Tensor grad) {
  Context& context = output.context();
  const Setting no_grad(context.grad_enabled, false);
  const Ref<Node>& root = output.impl()->grad_fn;
  count_dependencies(root.get());
  root->buffer[static_cast<std::size_t>(output.impl()->output_index)] = std::move(grad);

  std::vector<Ref<Node>> ready = {root};
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), RunsLater{});
    const LayerScope layer(context, ready.back()->layer);
    const Ref<Node> node = std::move(ready.back());
    ready.pop_back();
    Gradients grads = call(*node);
    node->release();
    for (std::size_t i = 0; i < grads.size(); ++i) {
      const Edge& edge = node->next[i];
      if (!edge.node) continue;
      Node& next = *edge.node;
      if (grads[i].defined()) {
        add_to_buffer(next.buffer[static_cast<std::size_t>(edge.index)], std::move(grads[i]));
      }
      if (--next.dependencies == 0) {
        ready.push_back(edge.node);
        std::push_heap(ready.begin(), ready.end(), RunsLater{});
      }
    }
  }
}

}  // namespace vramfit::pytorch
