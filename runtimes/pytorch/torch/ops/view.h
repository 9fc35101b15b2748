#pragma once

#include "runtimes/pytorch/torch/ops/reduce_kernel.h"
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
  result.impl()->base = a.impl()->is_view ? a.impl()->base : a.ref();
  if (result.impl()->base) result.impl()->seen = result.impl()->base->rebased;
  set_history(result, node);
  return result;
}

/// Tensor.view and reshape: a view, or a contiguous copy where strides do not allow one.
Tensor reshape(const Tensor& a, const Dims& sizes);
/// The same of a result that nobody else has, which is no view of it: ops in place may follow.
Tensor unsafe_view(const Tensor& a, const Dims& sizes);
/// The sizes of a matrix of all rows.
Dims flat(const Tensor& a);
Tensor transpose(const Tensor& a, int dim0, int dim1);
Tensor t(const Tensor& a);
Tensor permute(const Tensor& a, const Dims& order);
Tensor unsqueeze(const Tensor& a, int dim);
/// Without these dimensions, which are 1.
Tensor squeeze(const Tensor& a, DimMask mask);
Tensor expand(const Tensor& a, const Dims& sizes);
/// a[..., start : start + length] along `dim`; the gradient is padded with zeros (slice_backward).
/// Python leaves a dimension that it takes whole as it is, which the op does not.
Tensor slice(const Tensor& a, int dim, std::int64_t length);
Tensor slice_op(const Tensor& a, int dim, std::int64_t length, std::int64_t step);
/// One place along `dim`, which goes.
Tensor select(const Tensor& a, int dim);
/// Pairs of floats along the last dimension as complex numbers, and back.
Tensor view_as_complex(const Tensor& a);
Tensor view_as_real(const Tensor& a);
/// Itself, or a contiguous copy.
Tensor contiguous(const Tensor& a);
/// A copy in the same order of memory, and one that is contiguous.
Tensor clone(const Tensor& a);
Tensor contiguous_copy(const Tensor& a);

}  // namespace vramfit::pytorch
