#include "runtimes/pytorch/torch/ops/iterator.h"

#include <algorithm>

#include "model/checked.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"

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

/// compute_fast_setup_type: dense operands of one size and the same strides.
bool lie_alike(std::initializer_list<const Tensor*> operands, const Dims& sizes) {
  const Tensor& first = **operands.begin();
  return std::all_of(operands.begin(), operands.end(), [&](const Tensor* each) {
    return each->sizes() == sizes && each->strides() == first.strides() &&
           each->is_non_overlapping_and_dense();
  });
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
  if (lie_alike(operands, sizes)) {
    return empty_strided(first.context(), sizes, first.strides(), type);
  }

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

Tensor preserved(const Tensor& a, ScalarType type) {
  if (!a.is_non_overlapping_and_dense()) return empty_for({&a}, type);
  return empty_strided(a.context(), a.sizes(), a.strides(), type);
}

// c10/core/MemoryFormat.h (is_channels_last_strides_2d_s4).
bool is_channels_last(const Tensor& a) {
  if (a.rank() != 4 || a.strides()[1] == 0) return false;
  std::int64_t least = 0;
  for (const int dim : {1, 3, 2, 0}) {
    const std::int64_t stride = a.strides()[dim];
    if (a.size(dim) == 0 || stride < least || (dim == 0 && least == a.strides()[1])) return false;
    least = stride * std::max<std::int64_t>(a.size(dim), 1);
  }
  return true;
}

Tensor suggested(const Tensor& alike, const Dims& sizes, ScalarType type) {
  if (!is_channels_last(alike)) return empty(alike.context(), sizes, type);
  const Dims strides = {sizes[1] * sizes[2] * sizes[3], 1, sizes[1] * sizes[3], sizes[1]};
  return empty_strided(alike.context(), sizes, strides, type);
}

// aten/src/ATen/native/TypeProperties.cpp (combine_categories).
ScalarType result_type(const Tensor& a, const Tensor& b) {
  if (a.type() == b.type()) return a.type();
  if ((a.rank() == 0) == (b.rank() == 0)) return promote(a.type(), b.type());
  const ScalarType high = a.rank() == 0 ? b.type() : a.type();
  const ScalarType low = a.rank() == 0 ? a.type() : b.type();
  if (is_floating(high)) return high;
  return high == ScalarType::Bool || is_floating(low) ? promote(high, low) : high;
}

}  // namespace vramfit::pytorch
