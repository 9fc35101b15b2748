#include "runtimes/pytorch/torch/ops/iterator.h"

#include <algorithm>

#include "model/checked.h"

namespace vramfit::pytorch {
namespace {

/// The stride with which `operand` walks along a dimension of the whole; 0 where it is broadcast.
std::int64_t stride_of(const Tensor& operand, int dim, const Dims& sizes) {
  const int own = dim - (sizes.rank() - operand.rank());
  if (own < 0 || (operand.size(own) == 1 && sizes[dim] != 1)) return 0;
  return operand.strides()[own];
}

/// should_swap: > 0 where dimension `a` has to come after `b`, 0 where the operands do not say.
int compare(std::initializer_list<const Tensor*> operands, const Dims& sizes, int a, int b) {
  for (const Tensor* operand : operands) {
    const std::int64_t stride_a = stride_of(*operand, a, sizes);
    const std::int64_t stride_b = stride_of(*operand, b, sizes);
    if (stride_a == 0 || stride_b == 0) continue;
    if (stride_a != stride_b) return stride_a < stride_b ? -1 : 1;
    if (sizes[a] > sizes[b]) return 1;
  }
  return 0;
}

}  // namespace

Dims broadcast(const Dims& a, const Dims& b) {
  if (a.rank() < b.rank()) return broadcast(b, a);
  Dims result = a;
  for (int i = 1; i <= b.rank(); ++i) result[-i] = std::max(a[-i], b[-i]);
  return result;
}

Tensor empty_for(std::initializer_list<const Tensor*> operands, ScalarType type) {
  const Tensor& first = **operands.begin();
  Dims sizes = first.sizes();
  bool all_contiguous = true;
  for (const Tensor* operand : operands) {
    if (operand->sizes() != sizes) sizes = broadcast(sizes, operand->sizes());
    all_contiguous = all_contiguous && operand->is_contiguous();
  }
  if (all_contiguous) return empty(first.context(), sizes, type);

  // Dimensions from the fastest to the slowest, by insertion.
  std::array<int, Dims::kMax> order{};
  const int rank = sizes.rank();
  for (int i = 0; i < rank; ++i) order[static_cast<std::size_t>(i)] = rank - 1 - i;
  for (int i = 1; i < rank; ++i) {
    int at = i;
    for (int below = i - 1; below >= 0; --below) {
      int& lower = order[static_cast<std::size_t>(below)];
      int& upper = order[static_cast<std::size_t>(at)];
      const int comparison = compare(operands, sizes, lower, upper);
      if (comparison < 0) break;
      if (comparison > 0) {
        std::swap(lower, upper);
        at = below;
      }
    }
  }
  Dims strides = sizes;
  std::int64_t stride = 1;
  for (int i = 0; i < rank; ++i) {
    const int dim = order[static_cast<std::size_t>(i)];
    strides[dim] = stride;
    stride = checked_multiply(stride, sizes[dim]);
  }
  return empty_strided(first.context(), sizes, strides, type);
}

}  // namespace vramfit::pytorch
