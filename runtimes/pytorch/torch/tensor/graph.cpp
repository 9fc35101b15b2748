#include "runtimes/pytorch/torch/tensor/graph.h"

#include <limits>

namespace vramfit::pytorch {
namespace {

/// torch/csrc/autograd/functions/accumulate_grad.h.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(const Tensor& leaf) : leaf_(leaf) {
    sequence = std::numeric_limits<std::uint64_t>::max();  // as soon as it is ready
    layer = leaf.context().tape.layer;
    leaf_.impl()->accumulator = this;
  }
  ~AccumulateGrad() override { leaf_.impl()->accumulator = nullptr; }

  Gradients apply(Gradients& grads) override {
    accumulate(grads[0]);
    const auto& then = leaf_.context().after_accumulate;
    if (then) then(*leaf_.impl());
    return {};
  }
  void release() override {}

 private:
  void accumulate(Tensor& grad) {
    TensorImpl* leaf = leaf_.impl();
    if (leaf->grad) {
      // Gradients are added in place while no graph of gradients is wanted.
      grad.reset();
      return;
    }
    // accumulateGrad steals what no one else holds and has the leaf's layout, or else copies it.
    const bool steal = grad.impl()->references == 1 && obeys_layout(grad, leaf_);
    Tensor own = steal ? std::move(grad) : clone_with_layout(grad, leaf_);
    own.impl()->base.reset();  // it was made without a graph
    Storage& storage = *own.impl()->storage;
    if (storage.category != Category::Gradients && storage.references == 1) {
      storage.relabel(Category::Gradients);
    }
    leaf->grad = own.ref();
  }
  // torch/csrc/autograd/utils/grad_layout_contract.h
  static bool obeys_layout(const Tensor& grad, const Tensor& leaf) {
    if (!leaf.is_non_overlapping_and_dense()) return grad.is_contiguous();
    for (int i = 0; i < grad.rank(); ++i) {
      if (grad.size(i) == 1 ? grad.strides()[i] == 0 : grad.strides()[i] != leaf.strides()[i]) {
        return false;
      }
    }
    return true;
  }
  static Tensor clone_with_layout(const Tensor& grad, const Tensor& leaf) {
    const Dims strides =
        leaf.is_non_overlapping_and_dense() ? leaf.strides() : contiguous_strides(grad.sizes());
    return empty_strided(grad.context(), grad.sizes(), strides, grad.type());
  }
  Tensor leaf_;
};

}  // namespace

Saved::Saved(const Tensor& tensor) {
  if (!tensor.defined()) return;
  Context& context = tensor.context();
  if (!context.checkpoint) {
    tensor_ = tensor.detach();
    return;
  }
  frame_ = context.checkpoint;
  slot_ = frame_->save(tensor);
  if (slot_ >= 0) return;
  // A recomputation's graph has what it saves like any other, beside the slot: it may outlive its
  // layer, as where the layer leaves keys and values for later ones.
  frame_.reset();
  tensor_ = tensor.detach();
}

Saved::Saved(Saved&& other) noexcept
    : tensor_(std::move(other.tensor_)), frame_(std::move(other.frame_)), slot_(other.slot_) {}

Saved::~Saved() {
  if (!frame_) return;
  CheckpointFrame::Slot& slot = frame_->slots[static_cast<std::size_t>(slot_)];
  slot.wanted = false;
  slot.tensor.reset();
}

Tensor Saved::unpack() const {
  if (!frame_) return tensor_;
  frame_->recompute();
  return std::move(frame_->slots[static_cast<std::size_t>(slot_)].tensor);
}

namespace {

/// How far a tensor reaches in its memory, in elements, from where it begins.
std::int64_t extent(const Dims& sizes, const Dims& strides) {
  std::int64_t last = 0;
  for (int i = 0; i < sizes.rank(); ++i) {
    if (sizes[i] == 0) return 0;
    last += (sizes[i] - 1) * strides[i];
  }
  return last + 1;
}

/// AsStridedBackward0 of a base: its gradient is a part of zeros as large as the base's memory.
/// torch/csrc/autograd/FunctionsManual.cpp (as_strided_backward), of views that overlap nowhere.
Ref<Node> node_of_view(const Ref<TensorImpl>& base) {
  const auto make_backward = [&] {
    return [sizes = base->sizes, strides = base->strides](Node&, Gradients& grads) -> Gradients {
      const Tensor zeros = empty(grads[0].context(), {extent(sizes, strides)}, grads[0].type());
      return {as_strided(zeros, sizes, strides)};
    };
  };
  return make_node(base->storage->context, make_backward, Tensor(base));
}

/// What the base of a view gets that was changed in place.
/// torch/csrc/autograd/functions/tensor.cpp (CopySlices::apply_impl).
class CopySlices final : public Node {
 public:
  CopySlices(const TensorImpl& base, const Tensor& view, Ref<Node> node)
      : sizes_(base.sizes), strides_(base.strides), part_(view.sizes()), node_(std::move(node)) {}

  Gradients apply(Gradients& grads) override {
    Context& context = grads[0].context();
    Tensor whole = empty_strided(context, sizes_, strides_, grads[0].type());
    Gradients of_part{empty(context, part_, grads[0].type())};
    Gradients result = node_->apply(of_part);
    if (result[0].defined()) result[0] = wants(0) ? std::move(whole) : Tensor();  // copied into it
    return result;
  }
  void release() override { node_.reset(); }

 private:
  Dims sizes_;
  Dims strides_;
  Dims part_;
  Ref<Node> node_;
};

}  // namespace

void rebase_history(const Tensor& changed, const Ref<Node>& node) {
  if (!node) return;
  TensorImpl* view = changed.impl();
  if (!view->is_view) {
    set_history(changed, node);
    return;
  }
  if (!view->base) {  // of several from one op, which PyTorch refuses to change
    throw BadInput("an op in place on a view that has a gradient is not predicted yet");
  }
  Context& context = changed.context();
  TensorImpl& base = *view->base;
  const Ref<Node> slices(new CopySlices(base, changed, node));
  slices->sequence = context.next_sequence++;
  slices->layer = context.tape.layer;
  connect(*slices, 0, Tensor(view->base));
  for (std::size_t i = 1; i < node->next.size(); ++i) {
    if (!node->wants(static_cast<int>(i))) continue;
    slices->next[i] = node->next[i];
    slices->input_sizes[i] = node->input_sizes[i];
    slices->input_types[i] = node->input_types[i];
  }
  base.grad_fn = slices;
  base.output_index = 0;
  ++base.rebased;
  gradient_edge(changed);  // its own grad_fn is made anew
}

Edge gradient_edge(const Tensor& tensor) {
  TensorImpl* impl = tensor.impl();
  if (impl->is_stale_view()) {
    impl->grad_fn = node_of_view(impl->base);
    impl->output_index = 0;
    impl->seen = impl->base->rebased;
  }
  if (impl->grad_fn) return {impl->grad_fn, impl->output_index};
  if (impl->accumulator == nullptr) return {Ref<Node>(new AccumulateGrad(tensor)), 0};
  return {Ref<Node>(impl->accumulator), 0};
}

}  // namespace vramfit::pytorch
