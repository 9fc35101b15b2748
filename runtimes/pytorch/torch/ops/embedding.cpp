#include "runtimes/pytorch/torch/ops/embedding.h"

#include <algorithm>

#include "runtimes/pytorch/torch/ops/cub.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

/// Sorting lets the rows of one token meet: aten/src/ATen/native/cuda/Embedding.cu
/// (embedding_dense_backward_cuda) and EmbeddingBackwardKernel.cu, PyTorch 2.11.
Tensor sorted_backward(const Tensor& grad, const Dims& weight, std::int64_t count) {
  constexpr std::int64_t kRowsPerThread = 10;
  constexpr std::int64_t kManyPartials = 4;
  Context& context = grad.context();
  const ReleaseRules& rules = context.release.rules;
  const auto indices = [&](std::int64_t n) {
    return empty(context, {n}, ScalarType::Long, Category::Workspace);
  };
  const Tensor sorted = indices(count);
  const Tensor original = indices(count);
  {
    const Tensor range = indices(count);
    sort_workspace(context, count, 8, rules.sorts_few_bits ? bits_of(weight[0]) : 64);
  }
  const Tensor result = empty(context, weight, grad.type());
  const Tensor segment_offsets = indices(count);
  const Tensor segments = indices(1);
  {
    const Tensor unique = indices(count);
    unique_workspace(context, count);
  }
  const std::int64_t most_segments = std::min(count, weight[0]);
  const Tensor partials = indices(most_segments);
  const Tensor partial_offsets = indices(most_segments);
  scan_workspace(context, most_segments, ScalarType::Long);
  const Tensor partial_count = indices(1);
  const std::int64_t most = count / kRowsPerThread + most_segments;
  const Tensor offsets = indices(most);
  if (rules.sums_few_rows_in_place && most > kManyPartials * most_segments &&
      most_segments < 4 * context.multiprocessors) {
    // Few rows of many parts each are added up where they belong, in fp32.
    const Tensor segment_of = indices(most);
    if (grad.type() != ScalarType::Float) {
      empty(context, weight, ScalarType::Float, Category::Workspace);
    }
    return result;
  }
  const Tensor sums = empty(context, {most, weight[1]}, ScalarType::Float, Category::Workspace);
  return result;
}

}  // namespace

Tensor embedding_dense_backward(const Tensor& grad, const Dims& weight, std::int64_t count) {
  // Below so many a kernel without sorting adds up what belongs together.
  constexpr std::int64_t kUnsorted = 3072;
  return count > kUnsorted ? sorted_backward(grad, weight, count)
                           : empty(grad.context(), weight, grad.type());
}

Tensor embedding(const Tensor& weight, const Tensor& indices) {
  const auto make_backward = [&] {
    return [saved = Saved(indices), weight = weight.sizes()](Node&, Gradients& grads) -> Gradients {
      return {embedding_dense_backward(grads[0], weight, saved.unpack().numel())};
    };
  };
  weight.context().use_asserts();
  const Ref<Node> node = make_node(weight.context(), make_backward, weight);
  Dims sizes = indices.sizes();
  sizes.push_back(weight.size(1));
  Tensor result = empty(weight.context(), sizes, weight.type());
  set_history(result, node);
  return result;
}

}  // namespace vramfit::pytorch
