#include "runtimes/pytorch/torch/ops/sort.h"

#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {

std::vector<Tensor> topk(const Tensor& a, std::int64_t k, int dim) {
  Context& context = a.context();
  const Dims sizes = a.sizes().with(dim, k);
  Tensor values = empty(context, sizes, a.type());
  Tensor places = empty(context, sizes, ScalarType::Long);
  // value_selecting_reduction_backward: zeros, then the gradients in their places.
  const auto make_backward = [&] {
    return [saved = Saved(places), from = a.sizes()](Node&, Gradients& grads) -> Gradients {
      const Tensor kept = saved.unpack();
      return {empty(grads[0].context(), from, grads[0].type())};
    };
  };
  set_history(values, make_node(context, make_backward, a));
  return {std::move(values), std::move(places)};
}

void sort_workspace(Context& context, std::int64_t count) {
  constexpr std::int64_t kSortWorkspace = 17919;
  empty(context, {2 * 8 * count + kSortWorkspace}, ScalarType::Byte, Category::Workspace);
}

std::vector<Tensor> sort(const Tensor& a, int dim) {
  Context& context = a.context();
  Tensor values = empty(context, a.sizes(), a.type());
  Tensor places = empty(context, a.sizes(), ScalarType::Long);
  const Tensor range = empty(context, a.sizes(), ScalarType::Long, Category::Workspace);
  sort_workspace(context, a.numel());
  static_cast<void>(dim);
  return {std::move(values), std::move(places)};
}

}  // namespace vramfit::pytorch
