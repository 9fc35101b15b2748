#include "runtimes/pytorch/torch/ops/sort.h"

#include "model/errors.h"
#include "runtimes/pytorch/torch/ops/cub.h"
#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/ops/reduction.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

/// sortKeyValueInplace takes no more.
constexpr std::int64_t kSmallSort = 4096;

/// TensorTopK.cu (should_use_multiblock): slices of which several blocks share one.
bool share_slices(std::int64_t slices, std::int64_t size) {
  if (slices <= 20) return size >= 20000;
  if (slices <= 40) return size >= 10000;
  if (slices <= 80) return size >= 8000;
  if (slices < 200) return size >= 5000;
  if (slices < 800) return size >= 3000;
  if (slices <= 4000) return size >= 800;
  return size >= 400;
}

/// Values and places of a result that autograd knows the values of.
std::vector<Tensor> selected(const Tensor& a, Tensor values, Tensor places) {
  const auto make_backward = [&] {
    return [saved = Saved(places), from = a.sizes()](Node&, Gradients& grads) -> Gradients {
      const Tensor kept = saved.unpack();
      return {in_places(grads[0], from)};
    };
  };
  set_history(values, make_node(a.context(), make_backward, a));
  return {std::move(values), std::move(places)};
}

}  // namespace

// aten/src/ATen/native/cuda/TensorTopK.cu
std::vector<Tensor> topk(const Tensor& a, std::int64_t k, int dim, bool sorted) {
  Context& context = a.context();
  const Dims sizes = a.sizes().with(dim, k);
  Tensor values = empty(context, sizes, a.type());
  Tensor places = empty(context, sizes, ScalarType::Long);
  const std::int64_t size = a.size(dim);
  if (share_slices(a.numel() / size, size) || (sorted && k > kSmallSort)) {
    throw BadInput("topk of so many is not predicted yet");
  }
  contiguous(a.detach());
  return selected(a, std::move(values), std::move(places));
}

// aten/src/ATen/native/cuda/Sort.cpp and Sort.cu
std::vector<Tensor> sort(const Tensor& a, int dim) {
  Context& context = a.context();
  Tensor values = like(a);
  Tensor places = empty_for({&a}, ScalarType::Long);
  const std::int64_t size = a.size(dim);
  const auto range = [&] { return empty(context, {size}, ScalarType::Long, Category::Workspace); };
  if (size <= kSmallSort) {
    range();
  } else {
    if (a.numel() != size && size < 1'000'000) {
      throw BadInput("sorting several long rows is not predicted yet");
    }
    if (!a.is_contiguous()) throw BadInput("sorting rows that are apart is not predicted yet");
    const Tensor numbers = range();
    const std::int64_t bytes = element_size(a.type());
    for (std::int64_t row = 0; row < a.numel() / size; ++row) {
      sort_workspace(context, size, bytes, 8 * bytes);
    }
  }
  return selected(a, std::move(values), std::move(places));
}

}  // namespace vramfit::pytorch
