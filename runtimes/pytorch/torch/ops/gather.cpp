#include "runtimes/pytorch/torch/ops/gather.h"

#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

Tensor contiguous_like(const Tensor& a) { return empty(a.context(), a.sizes(), a.type()); }

Dims selected_sizes(const Tensor& a, int dim, const Tensor& index) {
  return a.rank() == 0 ? Dims() : a.sizes().with(dim, index.numel());
}

/// grad, or grad.scatter(dim, index, 0) where what was there is gone; grad.gather(dim, index).
Ref<Node> scatter_node(const Tensor& a, const Tensor& index, const Tensor& source, bool replaced) {
  const auto make_backward = [&] {
    return [saved = Saved(replaced || source.requires_grad() ? index : Tensor()), replaced](
               Node& self, Gradients& grads) -> Gradients {
      const Tensor places = saved.unpack();
      Gradients result;
      if (self.wants(0)) result[0] = replaced ? contiguous_like(grads[0]) : grads[0];
      if (self.wants(1)) result[1] = empty(grads[0].context(), places.sizes(), grads[0].type());
      return result;
    };
  };
  return make_node(a.context(), make_backward, a, source);
}

/// grad, or grad.index_fill(dim, index, 0) where what was there is gone; grad.index_select.
Ref<Node> index_node(const Tensor& a, int dim, const Tensor& index, const Tensor& source,
                     bool replaced) {
  const auto make_backward = [&] {
    return [saved = Saved(source.requires_grad() || replaced ? index : Tensor()),
            given = Saved(source.requires_grad() ? source : Tensor()), dim,
            replaced](Node& self, Gradients& grads) -> Gradients {
      const Tensor places = saved.unpack();
      const Tensor kept = given.unpack();
      Gradients result;
      if (self.wants(0)) result[0] = replaced ? like(grads[0]) : grads[0];
      if (self.wants(1)) {
        result[1] =
            empty(grads[0].context(), selected_sizes(grads[0], dim, places), grads[0].type());
      }
      return result;
    };
  };
  return make_node(a.context(), make_backward, a, source);
}

}  // namespace

Tensor gather(const Tensor& a, int, const Tensor& index) {
  const auto make_backward = [&] {
    return [input = Saved(a), saved = Saved(index)](Node&, Gradients& grads) -> Gradients {
      const Tensor from = input.unpack();
      const Tensor places = saved.unpack();
      // new_zeros, then scatter_add_.
      return {empty(grads[0].context(), from.sizes(), grads[0].type())};
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  Tensor result = empty(a.context(), index.sizes(), a.type());
  set_history(result, node);
  return result;
}

Tensor scatter(const Tensor& a, int, const Tensor& index, const Tensor& source) {
  const Ref<Node> node = scatter_node(a, index, source, true);
  Tensor result = contiguous_like(a);
  set_history(result, node);
  return result;
}

void scatter_(const Tensor& a, int, const Tensor& index, const Tensor& source) {
  rebase_history(a, scatter_node(a, index, source, true));
}

void scatter_add_(const Tensor& a, int, const Tensor& index, const Tensor& source) {
  rebase_history(a, scatter_node(a, index, source, false));
}

Tensor index_select(const Tensor& a, int dim, const Tensor& index) {
  const auto make_backward = [&] {
    return [saved = Saved(index), from = a.sizes()](Node&, Gradients& grads) -> Gradients {
      const Tensor places = saved.unpack();
      return {empty(grads[0].context(), from, grads[0].type())};  // zeros, then index_add_
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  Tensor result = empty(a.context(), selected_sizes(a, dim, index), a.type());
  set_history(result, node);
  return result;
}

Tensor index_add(const Tensor& a, int dim, const Tensor& index, const Tensor& source) {
  const Ref<Node> node = index_node(a, dim, index, source, false);
  Tensor result = contiguous_like(a);
  set_history(result, node);
  return result;
}

void index_add_(const Tensor& a, int dim, const Tensor& index, const Tensor& source) {
  rebase_history(a, index_node(a, dim, index, source, false));
}

void index_copy_(const Tensor& a, int dim, const Tensor& index, const Tensor& source) {
  rebase_history(a, index_node(a, dim, index, source, true));
}

}  // namespace vramfit::pytorch
