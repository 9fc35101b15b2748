#include "runtimes/pytorch/torch/distributed/dtensor.h"

#include "model/checked.h"
#include "runtimes/pytorch/torch/ops/embedding.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

/// all_reduce and all_gather_into_tensor of _c10d_functional: into memory of their own.
Tensor reduced(const Tensor& partial) {
  partial.context().libraries.use_collectives();
  return empty(partial.context(), partial.sizes(), partial.type());
}

/// all_gather_tensor: parts come one behind the other, and are put side by side. Of a single row
/// they are already (_maybe_view_chunk_cat).
Tensor gathered(const Tensor& part, std::int64_t gpus) {
  Context& context = part.context();
  context.libraries.use_collectives();
  const Dims sizes = part.sizes().with(-1, part.size(-1) * gpus);
  Tensor parts = empty(context, sizes, part.type());
  if (part.numel() == part.size(-1)) return parts;
  return empty(context, sizes, part.type());
}

/// _select_split_tensor, which clones.
Tensor part_of(const Tensor& whole, int dim, std::int64_t gpus) {
  return empty(whole.context(), whole.sizes().with(dim, shard_size(whole.size(dim), gpus)),
               whole.type());
}

/// The same memory, with a node of its own.
template <typename Backward>
Tensor passed_on(const Tensor& x, const Backward& backward) {
  const Ref<Node> node = make_node(
      x.context(), [&] { return backward; }, x);
  Tensor result = x.detach();
  set_history(result, node);
  return result;
}

}  // namespace

std::int64_t shard_size(std::int64_t whole, std::int64_t gpus) { return div_up(whole, gpus); }

Tensor from_replicated(const Tensor& x) {
  return passed_on(x, [](Node&, Gradients& grads) -> Gradients { return {reduced(grads[0])}; });
}

Tensor all_reduce(const Tensor& partial) {
  const auto make_backward = [] {
    return [](Node&, Gradients& grads) -> Gradients { return {grads[0]}; };
  };
  const Ref<Node> node = make_node(partial.context(), make_backward, partial);
  Tensor result = reduced(partial);
  set_history(result, node);
  return result;
}

Tensor all_gather(const Tensor& part, std::int64_t gpus) {
  const auto make_backward = [&] {
    return [gpus](Node&, Gradients& grads) -> Gradients { return {part_of(grads[0], -1, gpus)}; };
  };
  const Ref<Node> node = make_node(part.context(), make_backward, part);
  Tensor result = gathered(part, gpus);
  set_history(result, node);
  return result;
}

Tensor keep_part(const Tensor& whole, std::int64_t gpus) {
  const auto make_backward = [&] {
    return [gpus](Node&, Gradients& grads) -> Gradients { return {gathered(grads[0], gpus)}; };
  };
  const Ref<Node> node = make_node(whole.context(), make_backward, whole);
  Tensor result = part_of(whole, -1, gpus);
  set_history(result, node);
  return result;
}

Tensor embedding_of_part(const Tensor& weight, const Tensor& indices, std::int64_t rows) {
  Context& context = weight.context();
  const auto make_backward = [&] {
    return [saved = Saved(indices), whole = weight.sizes().with(0, rows)](
               Node&, Gradients& grads) -> Gradients {
      const std::int64_t count = saved.unpack().numel();
      Tensor result = embedding_dense_backward(grads[0], whole, count);
      result.impl()->is_whole = true;
      return {result};
    };
  };
  const Ref<Node> node = make_node(context, make_backward, weight);
  Tensor partial;
  {
    const auto like_indices = [&](ScalarType type) {
      return empty(context, indices.sizes(), type, Category::Inputs);
    };
    // (tensor < offset) | (tensor >= offset + size)
    Tensor below = like_indices(ScalarType::Bool);
    Tensor above = like_indices(ScalarType::Bool);
    const Tensor mask = like_indices(ScalarType::Bool);
    below.reset();
    above.reset();
    Tensor own = like_indices(ScalarType::Long);  // tensor.clone() - offset
    const Tensor masked = like_indices(ScalarType::Long);
    own.reset();
    const Setting no_grad(context.grad_enabled, false);
    partial = embedding(weight, masked);
  }
  Tensor result = reduced(partial);
  set_history(result, node);
  return result;
}

}  // namespace vramfit::pytorch
