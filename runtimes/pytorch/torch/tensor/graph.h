#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "model/errors.h"
#include "runtimes/pytorch/torch/tensor/checkpoint.h"
#include "runtimes/pytorch/torch/tensor/context.h"
#include "runtimes/pytorch/torch/tensor/few.h"
#include "runtimes/pytorch/torch/tensor/tensor.h"

// The graph that forward leaves, as far as memory can tell: which tensors its nodes keep, until
// when.
//
// Follows torch/csrc/autograd (function.h, saved_variable.cpp, functions/accumulate_grad.h),
// PyTorch 2.11.
namespace vramfit::pytorch {

using Gradients = Few<Tensor>;

struct Edge {
  Ref<Node> node;  ///< none: nothing upstream wants this gradient
  int index = 0;   ///< which of the node's gradients
};

/// A function of the backward graph.
class Node {
 public:
  virtual ~Node() = default;

  /// Takes the gradients of the outputs, gives those of the inputs.
  virtual Gradients apply(Gradients& grads) = 0;
  /// Drops what was saved; runs once apply() is through.
  virtual void release() = 0;

  /// Tensor.register_hook of what it made: runs before apply(), its gradients at hand.
  std::unique_ptr<std::function<void()>> hook;

  bool wants(int input) const {
    const auto i = static_cast<std::size_t>(input);
    return i < next.size() && next[i].node;
  }

  int references = 0;
  std::uint64_t sequence = 0;  ///< later ones run first
  int layer = kNoLayer;        ///< whose forward made it
  Few<Edge> next;
  // What gradients that are wanted are summed down to, and cast to.
  Few<Dims> input_sizes;
  Few<ScalarType> input_types;

  // The engine's bookkeeping while a backward runs.
  int dependencies = 0;  ///< edges that lead here from nodes still to run
  Gradients buffer;
};

/// A tensor kept for backward: the tensor's memory, or under activation checkpointing a place to
/// find it again.
class Saved {
 public:
  Saved() = default;
  explicit Saved(const Tensor& tensor);
  Saved(Saved&& other) noexcept;
  Saved& operator=(Saved&&) = delete;
  ~Saved();

  /// Once only: a recomputed tensor is handed over.
  Tensor unpack() const;

 private:
  Tensor tensor_;
  Ref<CheckpointFrame> frame_;
  int slot_ = -1;
};

/// Where gradients of `tensor` go: its grad_fn, or the accumulator of a leaf.
Edge gradient_edge(const Tensor& tensor);

/// A node whose backward is a callable; what it holds by value is what autograd saves. Attributes
/// of a torch.autograd.Function's ctx are not saved that way: such a callable says that it outlives
/// its run (kOutlivesBackward), and goes with the graph.
template <typename Backward>
class FunctionNode final : public Node, public Recycled<FunctionNode<Backward>> {
 public:
  explicit FunctionNode(Backward backward) : backward_(std::move(backward)) {}
  Gradients apply(Gradients& grads) override { return (*backward_)(*this, grads); }
  void release() override {
    if constexpr (!requires { Backward::kOutlivesBackward; }) backward_.reset();
  }

 private:
  std::optional<Backward> backward_;
};

/// Whether an op on these has to record a node.
template <typename... Tensors>
bool needs_graph(const Context& context, const Tensors&... inputs) {
  return context.grad_enabled && ((inputs.defined() && inputs.requires_grad()) || ...);
}

/// Where the node's gradient of its `i`-th input goes.
inline void connect(Node& node, std::size_t i, const Tensor& input) {
  if (!input.defined() || !input.requires_grad()) return;
  node.next[i] = gradient_edge(input);
  node.input_sizes[i] = input.sizes();
  node.input_types[i] = input.type();
}

template <typename MakeBackward>
Ref<Node> new_node(Context& context, const MakeBackward& make_backward) {
  Ref<Node> node(new FunctionNode(make_backward()));
  node->sequence = context.next_sequence++;
  node->layer = context.tape.layer;
  return node;
}

/// The node of an op on these inputs, or none where no graph is wanted. `make_backward` is called
/// only in the first case; it returns the backward, with what that saves. A node that saves only
/// inputs is made before the op runs, as PyTorch does, which a recomputation may stop at.
template <typename MakeBackward, typename... Tensors>
Ref<Node> make_node(Context& context, const MakeBackward& make_backward, const Tensors&... inputs) {
  if (!needs_graph(context, inputs...)) return {};
  Ref<Node> node = new_node(context, make_backward);
  std::size_t i = 0;
  (connect(*node, i++, inputs), ...);
  return node;
}

/// The same of a list of inputs.
template <typename MakeBackward>
Ref<Node> make_node_of(Context& context, const MakeBackward& make_backward,
                       std::span<const Tensor> inputs) {
  const bool needed = std::any_of(inputs.begin(), inputs.end(),
                                  [&](const Tensor& each) { return needs_graph(context, each); });
  if (!needed) return {};
  Ref<Node> node = new_node(context, make_backward);
  for (std::size_t i = 0; i < inputs.size(); ++i) connect(*node, i, inputs[i]);
  return node;
}

inline void set_history(const Tensor& output, const Ref<Node>& node, int index = 0) {
  output.impl()->grad_fn = node;
  output.impl()->output_index = index;
}

/// What an op in place makes of a tensor's history, and where it is a view, of its base's.
void rebase_history(const Tensor& changed, const Ref<Node>& node);

}  // namespace vramfit::pytorch
