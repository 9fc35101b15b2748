#pragma once

#include <array>
#include <span>
#include <vector>

#include "runtimes/pytorch/torch/tensor/tensor.h"

// Ops that take tensors apart and put them together.
namespace vramfit::pytorch {

/// torch.cat along `dim`; contiguous.
Tensor cat(std::span<const Tensor> parts, int dim);
inline Tensor cat(const Tensor& a, const Tensor& b, int dim) { return cat(std::array{a, b}, dim); }
Tensor stack(std::span<const Tensor> parts, int dim);
/// Parts of these lengths along `dim`, as views of one node, whose gradient is a cat.
std::vector<Tensor> split_with_sizes(const Tensor& a, int dim,
                                     std::span<const std::int64_t> lengths);
/// Views without that dimension, of one node, whose gradient is a stack.
std::vector<Tensor> unbind(const Tensor& a, int dim);
/// Equal parts along `dim`, as views of one node (SplitBackward, whose gradient is a cat).
void split_into(const Tensor& a, int dim, std::span<Tensor> parts);
template <std::size_t N>
std::array<Tensor, N> split(const Tensor& a, int dim) {
  std::array<Tensor, N> parts;
  split_into(a, dim, parts);
  return parts;
}

/// Tensor.repeat, and each element so many times.
Tensor repeat(const Tensor& a, const Dims& times);
Tensor repeat_interleave(const Tensor& a, std::int64_t times, int dim);

}  // namespace vramfit::pytorch
