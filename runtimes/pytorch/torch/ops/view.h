#pragma once

#include <array>
#include <span>
#include <vector>

#include "runtimes/pytorch/torch/tensor/graph.h"
#include "runtimes/pytorch/torch/tensor/tensor.h"

// Views, and ops that are views where the layout allows.
namespace vramfit::pytorch {

/// A view made by an op of autograd, with the backward `undo(grad)`.
template <typename Undo>
Tensor view_of(const Tensor& a, const Dims& sizes, const Dims& strides, const Undo& undo) {
  const auto make_backward = [&] {
    return [undo](Node&, Gradients& grads) -> Gradients { return {undo(grads[0])}; };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  Tensor result = as_strided(a, sizes, strides);
  result.impl()->is_view = true;
  set_history(result, node);
  return result;
}

/// Tensor.view and reshape: a view, or a contiguous copy where strides do not allow one.
Tensor reshape(const Tensor& a, const Dims& sizes);
/// The sizes of a matrix of all rows.
Dims flat(const Tensor& a);
Tensor transpose(const Tensor& a, int dim0, int dim1);
Tensor t(const Tensor& a);
Tensor unsqueeze(const Tensor& a, int dim);
Tensor expand(const Tensor& a, const Dims& sizes);
/// a[..., start : start + length] along `dim`; the gradient is padded with zeros (slice_backward).
Tensor slice(const Tensor& a, int dim, std::int64_t length);
/// Itself, or a contiguous copy.
Tensor contiguous(const Tensor& a);
Tensor clone(const Tensor& a);

/// torch.cat along `dim`; contiguous.
Tensor cat(std::span<const Tensor> parts, int dim);
inline Tensor cat(const Tensor& a, const Tensor& b, int dim) { return cat(std::array{a, b}, dim); }
/// Parts of these lengths along `dim`, as views of one node, whose gradient is a cat.
std::vector<Tensor> split_with_sizes(const Tensor& a, int dim,
                                     std::span<const std::int64_t> lengths);
/// Equal parts along `dim`, as views of one node (SplitBackward, whose gradient is a cat).
void split_into(const Tensor& a, int dim, std::span<Tensor> parts);
template <std::size_t N>
std::array<Tensor, N> split(const Tensor& a, int dim) {
  std::array<Tensor, N> parts;
  split_into(a, dim, parts);
  return parts;
}

}  // namespace vramfit::pytorch
