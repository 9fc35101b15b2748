#include "runtimes/pytorch/torch/ops/scan.h"

#include "runtimes/pytorch/torch/ops/cub.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

/// Contiguous, as what it scans becomes first.
Tensor scanned(const Tensor& a, int dim, ScalarType type) {
  Context& context = a.context();
  Tensor result = empty(context, a.sizes(), type, Category::Inputs);
  const Tensor converted = a.type() == type ? a : empty_for({&a}, type);
  const Tensor in = contiguous(converted);
  // One row is scanned by cub, with a workspace of its own.
  if (in.numel() > 0 && in.numel() == in.size(dim)) scan_workspace(context, in.numel(), type);
  return result;
}

}  // namespace

// aten/src/ATen/native/cuda/ScanUtils.cuh (scan_dim).
Tensor cumsum(const Tensor& a, int dim, std::optional<ScalarType> type) {
  const ScalarType out = type.value_or(is_floating(a.type()) ? a.type() : ScalarType::Long);
  const auto make_backward = [&] {
    return [dim, from = a.type()](Node&, Gradients& grads) -> Gradients {
      // cumsum_backward: grad.flip(dim).cumsum(dim).flip(dim)
      const Tensor grad = to(grads[0], from);
      if (grad.numel() <= 1 || grad.size(dim) == 1) return {grad};
      const Tensor turned = like(grad);
      const Tensor sums = scanned(turned, dim, turned.type());
      return {like(sums)};
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  Tensor result = scanned(a, dim, out);
  set_history(result, node);
  return result;
}

}  // namespace vramfit::pytorch
