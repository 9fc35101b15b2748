#include "runtimes/pytorch/torch/ops/index.h"

#include "runtimes/pytorch/torch/ops/sort.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

/// aten/src/ATen/native/cuda/Indexing.cu, index_put_with_sort_kernel, PyTorch 2.11: sorting lets
/// what goes to one place meet.
void put_sorted(Context& context, std::int64_t count) {
  const auto longs = [&] { return empty(context, {count}, ScalarType::Long, Category::Workspace); };
  const Tensor linear = longs();
  { const Tensor expanded = longs(); }
  const Tensor range = longs();
  const Tensor sorted = longs();
  const Tensor original = longs();
  sort_workspace(context, count);
}

}  // namespace

Tensor index(const Tensor& a, std::span<const Tensor> indices) {
  if (indices.size() != 1) throw BadInput("an index of several tensors is not predicted yet");
  const Tensor& rows = indices.front();
  const auto make_backward = [&] {
    return [saved = Saved(rows), from = a.sizes()](Node&, Gradients& grads) -> Gradients {
      const Tensor places = saved.unpack();
      Context& context = grads[0].context();
      Tensor result = empty(context, from, grads[0].type());
      put_sorted(context, places.numel());
      return {std::move(result)};
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  Dims sizes = rows.sizes();
  for (int i = 1; i < a.rank(); ++i) sizes.push_back(a.size(i));
  Tensor result = empty(a.context(), sizes, a.type());
  set_history(result, node);
  return result;
}

}  // namespace vramfit::pytorch
