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
  if (slot_ < 0) frame_.reset();  // its graph is dropped with the recomputation
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

Edge gradient_edge(const Tensor& tensor) {
  TensorImpl* impl = tensor.impl();
  if (impl->grad_fn) return {impl->grad_fn, impl->output_index};
  if (impl->accumulator == nullptr) return {Ref<Node>(new AccumulateGrad(tensor)), 0};
  return {Ref<Node>(impl->accumulator), 0};
}

}  // namespace vramfit::pytorch
