#include <algorithm>
#include <limits>

#include "model/errors.h"
#include "runtimes/pytorch/torch/aten/ops.h"
#include "runtimes/pytorch/torch/ops/cat.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/iterator.h"
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

Results reshaped_as(const Call& call) { return {reshape(call.tensor(0), call.tensor(1).sizes())}; }

/// (self, start_dim, end_dim)
Results flattened(const Call& call) {
  const Tensor a = call.tensor(0);
  if (a.rank() == 0) return {reshape(a, {1})};
  const int start = call.dim(1, a.rank(), 0);
  const int end = call.dim(2, a.rank(), -1);
  if (start == end) return {a};
  Dims sizes;
  for (int i = 0; i < a.rank(); ++i) {
    if (i > start && i <= end) {
      sizes[-1] *= a.size(i);
    } else {
      sizes.push_back(a.size(i));
    }
  }
  return {reshape(a, sizes)};
}

/// (self, dim, sizes)
Results unflattened(const Call& call) {
  const Tensor a = call.tensor(0);
  const int dim = call.dim(1, a.rank());
  const Dims parts = inferred(call.dims(2), a.size(dim));
  Dims sizes;
  for (int i = 0; i < a.rank(); ++i) {
    if (i != dim) {
      sizes.push_back(a.size(i));
      continue;
    }
    for (int part = 0; part < parts.rank(); ++part) sizes.push_back(parts[part]);
  }
  return {reshape(a, sizes)};
}

Results transposed(const Call& call) {
  const Tensor a = call.tensor(0);
  return {transpose(a, call.dim(1, a.rank()), call.dim(2, a.rank()))};
}

Results permuted(const Call& call) {
  const Tensor a = call.tensor(0);
  Dims order = call.dims(1);
  for (int i = 0; i < order.rank(); ++i) order[i] = order[i] < 0 ? order[i] + a.rank() : order[i];
  return {permute(a, order)};
}

/// Tensor.T
Results turned(const Call& call) {
  const Tensor a = call.tensor(0);
  Dims order;
  for (int i = a.rank() - 1; i >= 0; --i) order.push_back(i);
  return {permute(a, order)};
}

Results unsqueezed(const Call& call) {
  const Tensor a = call.tensor(0);
  return {unsqueeze(a, call.dim(1, a.rank() + 1))};
}

/// (self, dim), or all that are 1.
Results squeezed(const Call& call) {
  const Tensor a = call.tensor(0);
  DimMask mask = 0;
  for (int i = 0; i < a.rank(); ++i) {
    if (a.size(i) == 1 && (!call.has(1) || i == call.dim(1, a.rank()))) mask |= bit(i);
  }
  return {squeeze(a, mask)};
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

Results expanded_as(const Call& call) { return {expand(call.tensor(0), call.tensor(1).sizes())}; }

Results broadcast_all(const Call& call) {
  std::vector<Tensor> tensors = call.tensors(0);
  Dims sizes = tensors.front().sizes();
  for (const Tensor& each : tensors) sizes = broadcast(sizes, each.sizes());
  for (Tensor& each : tensors) {
    if (each.sizes() != sizes) each = expand(each, sizes);
  }
  return tensors;
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
  return {slice_op(a, dim, std::max<std::int64_t>(0, (end - start + step - 1) / step), step)};
}

Results selected(const Call& call) {
  const Tensor a = call.tensor(0);
  return {select(a, call.dim(1, a.rank()))};
}

/// Of a list of tensors, one at least.
std::vector<Tensor> joined(const Call& call) {
  std::vector<Tensor> parts = call.tensors(0);
  const bool are_tensors =
      std::all_of(parts.begin(), parts.end(), [](const Tensor& part) { return part.defined(); });
  if (parts.empty() || !are_tensors) throw BadInput("joins what is no list of tensors");
  return parts;
}

Results concatenated(const Call& call) {
  std::vector<Tensor> parts = joined(call);
  // A part of one dimension without elements is passed over, whatever the others are.
  std::erase_if(parts, [](const Tensor& part) { return part.rank() == 1 && part.numel() == 0; });
  if (parts.empty()) return {call.tensors(0).front()};
  return {cat(parts, call.dim(1, parts.front().rank()))};
}

Results stacked(const Call& call) {
  const std::vector<Tensor> parts = joined(call);
  return {stack(parts, call.dim(1, parts.front().rank() + 1))};
}

/// Views of one node: of `size`, the last of what is left.
Results split_by(const Tensor& a, int dim, std::int64_t size) {
  std::vector<std::int64_t> lengths;
  std::int64_t left = a.size(dim);
  do {
    lengths.push_back(std::min(size, left));
    left -= size;
  } while (left > 0);
  return split_with_sizes(a, dim, lengths);
}

Results chunked(const Call& call) {
  const Tensor a = call.tensor(0);
  const int dim = call.dim(2, a.rank());
  const std::int64_t chunks = call.integer(1);
  return split_by(a, dim, (a.size(dim) + chunks - 1) / chunks);
}

/// (self, size, dim)
Results split_op(const Call& call) {
  const Tensor a = call.tensor(0);
  return split_by(a, call.dim(2, a.rank()), call.integer(1));
}

/// (self, sizes, dim)
Results split_with_sizes_op(const Call& call) {
  const Tensor a = call.tensor(0);
  return split_with_sizes(a, call.dim(2, a.rank()), call.integers(1));
}

Results unbound(const Call& call) {
  const Tensor a = call.tensor(0);
  return unbind(a, call.dim(1, a.rank()));
}

Results made_contiguous(const Call& call) { return {contiguous(call.tensor(0))}; }

/// (self, memory_format)
Results cloned(const Call& call) {
  const Tensor a = call.tensor(0);
  return {call.flag(1) || call.text(1) == "torch.contiguous_format" ? contiguous_copy(a)
                                                                    : clone(a)};
}

/// (self, repeats)
Results repeated(const Call& call) { return {repeat(call.tensor(0), call.dims(1))}; }

/// (self, repeats, dim)
Results interleaved(const Call& call) {
  const Tensor a = call.tensor(0);
  if (!call.has(2)) return {repeat_interleave(reshape(a, {a.numel()}), call.integer(1), 0)};
  return {repeat_interleave(a, call.integer(1), call.dim(2, a.rank()))};
}

/// Another tensor of the same memory, and autograd's.
Results aliased(const Call& call) {
  const Tensor a = call.tensor(0);
  return {view_of(a, a.sizes(), a.strides(), [](const Tensor& grad) { return grad; })};
}

Results as_complex(const Call& call) { return {view_as_complex(call.tensor(0))}; }

Results as_real(const Call& call) { return {view_as_real(call.tensor(0))}; }

Results detached(const Call& call) { return {call.tensor(0).detach()}; }

/// The tensor itself.
Results same(const Call& call) { return {call.tensor(0)}; }

constexpr NamedOp kViewOps[] = {
    {"view", reshaped},
    {"reshape", reshaped},
    {"reshape_as", reshaped_as},
    {"flatten.using_ints", flattened},
    {"unflatten.int", unflattened},
    {"transpose.int", transposed},
    {"permute", permuted},
    {"numpy_T", turned},
    {"unsqueeze", unsqueezed},
    {"squeeze", squeezed},
    {"squeeze.dim", squeezed},
    {"expand", expanded},
    {"expand_as", expanded_as},
    {"broadcast_to", expanded},
    {"broadcast_tensors", broadcast_all},
    {"slice.Tensor", sliced},
    {"select.int", selected},
    {"cat", concatenated},
    {"concat", concatenated},
    {"concatenate", concatenated},
    {"stack", stacked},
    {"chunk", chunked},
    {"split.Tensor", split_op},
    {"split_with_sizes", split_with_sizes_op},
    {"unbind.int", unbound},
    {"contiguous", made_contiguous},
    {"clone", cloned},
    {"repeat", repeated},
    {"repeat_interleave.self_int", interleaved},
    {"alias", aliased},
    {"view_as_complex", as_complex},
    {"view_as_real", as_real},
    {"detach", detached},
    {"lift_fresh", same},
    {"detach_", same},
    {"resolve_conj", same},
    {"resolve_neg", same},
};

}  // namespace

std::span<const NamedOp> view_ops() { return kViewOps; }

}  // namespace vramfit::pytorch::aten
