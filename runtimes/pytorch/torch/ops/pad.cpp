#include "runtimes/pytorch/torch/ops/pad.h"

#include <algorithm>

#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

// aten/src/ATen/native/PadNd.cpp
Tensor padded(const Tensor& a, const std::vector<std::int64_t>& pad) {
  Dims sizes = a.sizes();
  Dims kept = a.sizes();
  for (int i = 0; i < static_cast<int>(pad.size()) / 2; ++i) {
    const auto at = static_cast<std::size_t>(2 * i);
    sizes[-1 - i] += pad[at] + pad[at + 1];
    kept[-1 - i] += std::min<std::int64_t>(pad[at], 0) + std::min<std::int64_t>(pad[at + 1], 0);
  }
  const bool only_cuts = std::all_of(pad.begin(), pad.end(), [](auto each) { return each <= 0; });
  if (only_cuts) return like(as_strided(a, kept, a.strides()));  // a clone of what stays
  return suggested(a, sizes, a.type());
}

}  // namespace

Tensor constant_pad(const Tensor& a, const std::vector<std::int64_t>& pad) {
  const auto make_backward = [&] {
    return [pad](Node&, Gradients& grads) -> Gradients {
      std::vector<std::int64_t> back;
      for (const std::int64_t each : pad) back.push_back(-each);
      return {padded(grads[0], back)};
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  Tensor result = padded(a, pad);
  set_history(result, node);
  return result;
}

Tensor triangle(const Tensor& a) {
  const auto contiguous_one = [](const Tensor& each) {
    return empty(each.context(), each.sizes(), each.type());
  };
  const auto make_backward = [&] {
    return [contiguous_one](Node&, Gradients& grads) -> Gradients {
      return {contiguous_one(grads[0])};
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  Tensor result = contiguous_one(a);
  set_history(result, node);
  return result;
}

}  // namespace vramfit::pytorch
