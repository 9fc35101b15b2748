#include <algorithm>
#include <limits>

#include "runtimes/pytorch/torch/aten/ops.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch::aten {
namespace {

/// infer_size: the one size that is -1 is what is left.
Dims inferred(Dims sizes, std::int64_t numel) {
  std::int64_t known = 1;
  int open = -1;
  for (int i = 0; i < sizes.rank(); ++i) {
    if (sizes[i] == -1) {
      open = i;
    } else {
      known *= sizes[i];
    }
  }
  if (open >= 0) sizes[open] = known == 0 ? 0 : numel / known;
  return sizes;
}

/// view, and reshape, which copies where strides do not allow one.
Results reshaped(const Call& call) {
  const Tensor a = call.tensor(0);
  return {reshape(a, inferred(call.dims(1), a.numel()))};
}

Results transposed(const Call& call) {
  const Tensor a = call.tensor(0);
  return {transpose(a, call.dim(1, a.rank()), call.dim(2, a.rank()))};
}

Results unsqueezed(const Call& call) {
  const Tensor a = call.tensor(0);
  return {unsqueeze(a, call.dim(1, a.rank() + 1))};
}

/// -1 leaves a size as it is.
Results expanded(const Call& call) {
  const Tensor a = call.tensor(0);
  Dims sizes = call.dims(1);
  for (int i = 1; i <= a.rank(); ++i) {
    if (sizes[-i] == -1) sizes[-i] = a.size(-i);
  }
  return {expand(a, sizes)};
}

std::int64_t clamped(std::int64_t place, std::int64_t size) {
  return std::clamp<std::int64_t>(place < 0 ? place + size : place, 0, size);
}

Results sliced(const Call& call) {
  const Tensor a = call.tensor(0);
  const int dim = call.dim(1, a.rank());
  const std::int64_t size = a.size(dim);
  const std::int64_t start = clamped(call.integer(2), size);
  const std::int64_t end = clamped(call.integer(3, std::numeric_limits<std::int64_t>::max()), size);
  const std::int64_t step = call.integer(4, 1);
  return {slice(a, dim, std::max<std::int64_t>(0, (end - start + step - 1) / step))};
}

/// slice_backward's kin: zeros, then the gradient in its place.
Results selected(const Call& call) {
  const Tensor a = call.tensor(0);
  const int dim = call.dim(1, a.rank());
  Dims sizes;
  Dims strides;
  for (int i = 0; i < a.rank(); ++i) {
    if (i == dim) continue;
    sizes.push_back(a.size(i));
    strides.push_back(a.strides()[i]);
  }
  return {view_of(a, sizes, strides, [from = a.sizes()](const Tensor& grad) {
    return empty(grad.context(), from, grad.type());
  })};
}

Results concatenated(const Call& call) {
  std::vector<Tensor> parts = call.tensors(0);
  // A part of one dimension without elements is passed over, whatever the others are.
  std::erase_if(parts, [](const Tensor& part) { return part.rank() == 1 && part.numel() == 0; });
  return {cat(parts, call.dim(1, parts.front().rank()))};
}

/// Views of one node: of `size`, the last of what is left.
Results split_by(const Tensor& a, int dim, std::int64_t size) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t left = a.size(dim); left > 0; left -= size) {
    lengths.push_back(std::min(size, left));
  }
  return split_with_sizes(a, dim, lengths);
}

Results chunked(const Call& call) {
  const Tensor a = call.tensor(0);
  const int dim = call.dim(2, a.rank());
  const std::int64_t chunks = call.integer(1);
  return split_by(a, dim, (a.size(dim) + chunks - 1) / chunks);
}

Results made_contiguous(const Call& call) { return {contiguous(call.tensor(0))}; }

/// Another tensor of the same memory, and autograd's.
Results aliased(const Call& call) {
  const Tensor a = call.tensor(0);
  return {view_of(a, a.sizes(), a.strides(), [](const Tensor& grad) { return grad; })};
}

Results detached(const Call& call) { return {call.tensor(0).detach()}; }

Results cloned(const Call& call) { return {clone(call.tensor(0))}; }

/// The tensor itself.
Results same(const Call& call) { return {call.tensor(0)}; }

constexpr NamedOp kViewOps[] = {
    {"view.default", reshaped},    {"reshape.default", reshaped},
    {"transpose.int", transposed}, {"unsqueeze.default", unsqueezed},
    {"expand.default", expanded},  {"slice.Tensor", sliced},
    {"select.int", selected},      {"cat.default", concatenated},
    {"chunk.default", chunked},    {"contiguous.default", made_contiguous},
    {"alias.default", aliased},    {"lift_fresh.default", same},
    {"detach_.default", same},     {"detach.default", detached},
    {"clone.default", cloned},
};

}  // namespace

std::span<const NamedOp> view_ops() { return kViewOps; }

}  // namespace vramfit::pytorch::aten
