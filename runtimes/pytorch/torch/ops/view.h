#pragma once

#include <array>
#include <span>

#include "runtimes/pytorch/torch/tensor/tensor.h"

// Views, and ops that are views where the layout allows.
namespace vramfit::pytorch {

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

/// torch.cat of two along `dim`; contiguous.
Tensor cat(const Tensor& a, const Tensor& b, int dim);
/// Equal parts along `dim`, as views of one node (SplitBackward, whose gradient is a cat).
void split_into(const Tensor& a, int dim, std::span<Tensor> parts);
template <std::size_t N>
std::array<Tensor, N> split(const Tensor& a, int dim) {
  std::array<Tensor, N> parts;
  split_into(a, dim, parts);
  return parts;
}

}  // namespace vramfit::pytorch
