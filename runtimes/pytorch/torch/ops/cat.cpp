#include "runtimes/pytorch/torch/ops/cat.h"

#include <algorithm>
#include <utility>

#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/ops/reduction.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {

namespace {

/// compute_output_memory_format: channels last where all are.
Tensor joined(std::span<const Tensor> parts, const Dims& sizes, ScalarType type) {
  const Tensor& first = parts.front();
  const bool last = std::all_of(parts.begin(), parts.end(), is_channels_last);
  return last ? suggested(first, sizes, type) : empty(first.context(), sizes, type);
}

}  // namespace

Tensor cat(std::span<const Tensor> parts, int dim) {
  const Tensor& first = parts.front();
  Context& context = first.context();
  std::vector<std::int64_t> lengths;
  std::int64_t length = 0;
  ScalarType type = first.type();
  for (const Tensor& part : parts) {
    lengths.push_back(part.size(dim));
    length += part.size(dim);
    type = promote(type, part.type());
  }
  const auto make_backward = [&] {
    return [dim, lengths](Node& self, Gradients& grads) -> Gradients {
      Gradients result;
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        if (self.wants(static_cast<int>(i))) result[i] = slice(grads[0], dim, lengths[i]);
      }
      return result;
    };
  };
  const Ref<Node> node = make_node_of(context, make_backward, parts);
  Tensor result = joined(parts, first.sizes().with(dim, length), type);
  set_history(result, node);
  return result;
}

std::vector<Tensor> split_with_sizes(const Tensor& a, int dim,
                                     std::span<const std::int64_t> lengths) {
  const auto make_backward = [&] {
    return [whole = a.sizes(), type = a.type(), dim,
            lengths = std::vector(lengths.begin(), lengths.end())](Node&,
                                                                   Gradients& grads) -> Gradients {
      // split_with_sizes_backward: zeros for parts that nobody used, then a cat.
      Context* context = nullptr;
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        if (grads[i].defined()) context = &grads[i].context();
      }
      std::vector<Tensor> all;
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        const Dims sizes = whole.with(dim, lengths[i]);
        all.push_back(grads[i].defined() ? grads[i] : empty(*context, sizes, type));
      }
      return {joined(all, whole, type)};
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  std::vector<Tensor> parts;
  for (const std::int64_t length : lengths) {
    Tensor part = as_strided(a, a.sizes().with(dim, length), a.strides());
    part.impl()->is_view = true;
    set_history(part, node, static_cast<int>(parts.size()));
    parts.push_back(std::move(part));
  }
  return parts;
}

Tensor stack(std::span<const Tensor> parts, int dim) {
  ScalarType type = parts.front().type();
  for (const Tensor& part : parts) type = promote(type, part.type());
  const Tensor& first = parts.front();
  const auto make_backward = [&] {
    return [dim, count = parts.size()](Node& self, Gradients& grads) -> Gradients {
      Gradients result;  // grad.unbind(dim)
      for (std::size_t i = 0; i < count; ++i) {
        if (self.wants(static_cast<int>(i))) result[i] = select(grads[0], dim);
      }
      return result;
    };
  };
  const Ref<Node> node = make_node_of(first.context(), make_backward, parts);
  Dims sizes;
  for (int i = 0; i <= first.rank(); ++i) {
    if (i == dim) sizes.push_back(static_cast<std::int64_t>(parts.size()));
    if (i < first.rank()) sizes.push_back(first.size(i));
  }
  Tensor result = empty(first.context(), sizes, type);
  set_history(result, node);
  return result;
}

std::vector<Tensor> unbind(const Tensor& a, int dim) {
  const auto count = static_cast<std::size_t>(a.size(dim));
  const auto make_backward = [&] {
    return [whole = a.sizes(), count](Node&, Gradients& grads) -> Gradients {
      // unbind_backward: for a part that nobody used a zero, expanded.
      Context* context = nullptr;
      ScalarType type{};
      for (std::size_t i = 0; i < count; ++i) {
        if (!grads[i].defined()) continue;
        context = &grads[i].context();
        type = grads[i].type();
      }
      std::vector<Tensor> zeros;
      for (std::size_t i = 0; i < count; ++i) {
        if (!grads[i].defined()) zeros.push_back(empty(*context, {}, type));
      }
      return {empty(*context, whole, type)};
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  const Tensor plain = a.detach();
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < count; ++i) {
    Tensor part = select(plain, dim);
    set_history(part, node, static_cast<int>(i));
    parts.push_back(std::move(part));
  }
  return parts;
}

// aten/src/ATen/native/TensorShape.cpp (repeat), FunctionsManual.cpp (repeat_backward).
Tensor repeat(const Tensor& a, const Dims& times) {
  const int leading = times.rank() - a.rank();
  const auto make_backward = [&] {
    return [from = a.sizes(), times, leading](Node&, Gradients& grads) -> Gradients {
      Tensor grad = grads[0];
      if (grad.numel() == 0) return {empty(grad.context(), from, grad.type())};
      for (int i = 0; i < leading; ++i) grad = sum(grad, bit(0), false);
      Dims sizes;
      DimMask repeated = 0;
      for (int i = 0; i < from.rank(); ++i) {
        if (times[leading + i] != 1) {
          repeated |= bit(sizes.rank());
          sizes.push_back(times[leading + i]);
        }
        sizes.push_back(from[i]);
      }
      if (repeated == 0) return {grad};
      return {sum(reshape(grad, sizes), repeated, false)};
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  Dims sizes = times;
  for (int i = 0; i < a.rank(); ++i) sizes[leading + i] *= a.size(i);
  Tensor result = empty(a.context(), sizes, a.type());
  set_history(result, node);
  return result;
}

Tensor repeat_interleave(const Tensor& a, std::int64_t times, int dim) {
  const Tensor narrow = unsqueeze(a, dim + 1);
  const Tensor wide = contiguous_copy(expand(narrow, narrow.sizes().with(dim + 1, times)));
  return reshape(wide, a.sizes().with(dim, a.size(dim) * times));
}

void split_into(const Tensor& a, int dim, std::span<Tensor> parts) {
  const std::vector<std::int64_t> lengths(parts.size(),
                                          a.size(dim) / static_cast<std::int64_t>(parts.size()));
  std::vector<Tensor> all = split_with_sizes(a, dim, lengths);
  std::move(all.begin(), all.end(), parts.begin());
}

}  // namespace vramfit::pytorch
