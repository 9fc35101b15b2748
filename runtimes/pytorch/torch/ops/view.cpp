#include "runtimes/pytorch/torch/ops/view.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

/// at::detail::computeStride: strides of a view with other sizes, if there is one.
std::optional<Dims> view_strides(const Tensor& a, const Dims& sizes) {
  Dims strides = sizes;
  int view_dim = sizes.rank() - 1;
  std::int64_t base_stride = a.rank() == 0 ? 1 : a.strides()[-1];
  std::int64_t elements = 1;
  std::int64_t view_elements = 1;
  for (int dim = a.rank() - 1; dim >= 0; --dim) {
    elements *= a.size(dim);
    // The end of a run of dimensions that lie behind each other in memory.
    if (dim == 0 || (a.size(dim - 1) != 1 && a.strides()[dim - 1] != elements * base_stride)) {
      while (view_dim >= 0 && (view_elements < elements || sizes[view_dim] == 1)) {
        strides[view_dim] = view_elements * base_stride;
        view_elements *= sizes[view_dim];
        --view_dim;
      }
      if (view_elements != elements) return std::nullopt;
      if (dim > 0) {
        base_stride = a.strides()[dim - 1];
        elements = view_elements = 1;
      }
    }
  }
  return view_dim == -1 ? std::optional(strides) : std::nullopt;
}

}  // namespace

Tensor reshape(const Tensor& a, const Dims& sizes) {
  if (sizes.product() != a.numel()) throw BadInput("a view of another number of elements");
  const std::optional<Dims> strides = view_strides(a, sizes);
  if (!strides) return reshape(contiguous(a), sizes);
  return view_of(a, sizes, *strides,
                 [from = a.sizes()](const Tensor& grad) { return reshape(grad, from); });
}

Dims flat(const Tensor& a) { return {a.numel() / a.size(-1), a.size(-1)}; }

Tensor transpose(const Tensor& a, int dim0, int dim1) {
  Dims sizes = a.sizes();
  Dims strides = a.strides();
  std::swap(sizes[dim0], sizes[dim1]);
  std::swap(strides[dim0], strides[dim1]);
  return view_of(a, sizes, strides,
                 [dim0, dim1](const Tensor& grad) { return transpose(grad, dim0, dim1); });
}

Tensor t(const Tensor& a) { return transpose(a, 0, 1); }

Tensor unsqueeze(const Tensor& a, int dim) {
  Dims sizes;
  Dims strides;
  for (int i = 0; i <= a.rank(); ++i) {
    if (i == dim) {
      sizes.push_back(1);
      strides.push_back(i < a.rank() ? a.size(i) * a.strides()[i] : 1);
    }
    if (i == a.rank()) break;
    sizes.push_back(a.size(i));
    strides.push_back(a.strides()[i]);
  }
  return view_of(a, sizes, strides,
                 [from = a.sizes()](const Tensor& grad) { return reshape(grad, from); });
}

Tensor expand(const Tensor& a, const Dims& sizes) {
  Dims strides = sizes;
  for (int i = 1; i <= sizes.rank(); ++i) {
    const bool own = i <= a.rank() && (a.size(-i) != 1 || sizes[-i] == 1);
    strides[-i] = own ? a.strides()[-i] : 0;
  }
  // The engine sums the gradient down to what was expanded.
  return view_of(a, sizes, strides, [](const Tensor& grad) { return grad; });
}

Tensor slice(const Tensor& a, int dim, std::int64_t length) {
  if (length == a.size(dim)) {
    return view_of(a, a.sizes(), a.strides(), [](const Tensor& grad) { return grad; });
  }
  return view_of(a, a.sizes().with(dim, length), a.strides(),
                 [from = a.sizes()](const Tensor& grad) {
                   return empty(grad.context(), from, grad.type());  // zeros, then copied into
                 });
}

Tensor clone(const Tensor& a) {
  const auto make_backward = [&] {
    return [](Node&, Gradients& grads) -> Gradients { return {grads[0]}; };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  Tensor result = empty(a.context(), a.sizes(), a.type());
  set_history(result, node);
  return result;
}

Tensor contiguous(const Tensor& a) { return a.is_contiguous() ? a : clone(a); }

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
  Tensor result = empty(context, first.sizes().with(dim, length), type);
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
      for (const Tensor& grad : grads) {
        if (grad.defined()) context = &grad.context();
      }
      std::vector<Tensor> zeros;
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        if (grads[i].defined()) continue;
        zeros.push_back(empty(*context, whole.with(dim, lengths[i]), type));
      }
      return {empty(*context, whole, type)};
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

void split_into(const Tensor& a, int dim, std::span<Tensor> parts) {
  const std::vector<std::int64_t> lengths(parts.size(),
                                          a.size(dim) / static_cast<std::int64_t>(parts.size()));
  std::vector<Tensor> all = split_with_sizes(a, dim, lengths);
  std::move(all.begin(), all.end(), parts.begin());
}

}  // namespace vramfit::pytorch
