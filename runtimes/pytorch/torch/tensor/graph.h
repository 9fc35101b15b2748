#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "model/errors.h"
#include "runtimes/pytorch/torch/tensor/checkpoint.h"
#include "runtimes/pytorch/torch/tensor/context.h"
#include "runtimes/pytorch/torch/tensor/tensor.h"

// The graph that forward leaves, as far as memory can tell: which tensors its nodes keep, until
// when.
//
// Follows torch/csrc/autograd (function.h, saved_variable.cpp, functions/accumulate_grad.h),
// PyTorch 2.11.
namespace vramfit::pytorch {

/// At most so many inputs, outputs or gradients an op has; attention and split have the most.
inline constexpr int kMaxEdges = 4;
using Gradients = std::array<Tensor, kMaxEdges>;

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
    return static_cast<bool>(next[static_cast<std::size_t>(input)].node);
  }

  int references = 0;
  std::uint64_t sequence = 0;  ///< later ones run first
  int layer = kNoLayer;        ///< whose forward made it
  std::array<Edge, kMaxEdges> next;
  // What gradients that are wanted are summed down to, and cast to.
  std::array<Dims, kMaxEdges> input_sizes;
  std::array<ScalarType, kMaxEdges> input_types{};

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

/// The node of an op on these inputs, or none where no graph is wanted. `make_backward` is called
/// only in the first case; it returns the backward, with what that saves. A node that saves only
/// inputs is made before the op runs, as PyTorch does, which a recomputation may stop at.
template <typename MakeBackward, typename... Tensors>
Ref<Node> make_node(Context& context, const MakeBackward& make_backward, const Tensors&... inputs) {
  if (!needs_graph(context, inputs...)) return {};
  Ref<Node> node(new FunctionNode(make_backward()));
  node->sequence = context.next_sequence++;
  node->layer = context.tape.layer;
  std::size_t i = 0;
  const auto connect = [&](const Tensor& input) {
    if (input.defined() && input.requires_grad()) {
      node->next[i] = gradient_edge(input);
      node->input_sizes[i] = input.sizes();
      node->input_types[i] = input.type();
    }
    ++i;
  };
  (connect(inputs), ...);
  return node;
}

/// The same of a list of inputs. Throws BadInput where they are more than a node has edges.
template <typename MakeBackward>
Ref<Node> make_node_of(Context& context, const MakeBackward& make_backward,
                       std::span<const Tensor> inputs) {
  if (inputs.size() > kMaxEdges) {
    throw BadInput("an op on " + std::to_string(inputs.size()) + " tensors is not predicted yet");
  }
  std::array<Tensor, kMaxEdges> all;
  std::copy(inputs.begin(), inputs.end(), all.begin());
  return std::apply([&](const auto&... each) { return make_node(context, make_backward, each...); },
                    all);
}

inline void set_history(const Tensor& output, const Ref<Node>& node, int index = 0) {
  output.impl()->grad_fn = node;
  output.impl()->output_index = index;
}

}  // namespace vramfit::pytorch
