#pragma once

#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {

/// Tensor.to(dtype, memory_format=torch.contiguous_format), which leaves what has that type and
/// does not look like channels last (to_will_alias).
inline Tensor to_contiguous(const Tensor& a, ScalarType type) {
  if (a.type() == type && !is_channels_last(a)) return a;
  const auto make_backward = [&] {
    return [from = a.type()](Node&, Gradients& grads) -> Gradients { return {to(grads[0], from)}; };
  };
  const Ref<Node> node = is_floating(type) ? make_node(a.context(), make_backward, a) : Ref<Node>();
  Tensor result = empty(a.context(), a.sizes(), type);
  set_history(result, node);
  return result;
}

}  // namespace vramfit::pytorch
