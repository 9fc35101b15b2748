#include "runtimes/pytorch/torch/ops/view.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

/// A view made by an op of autograd, with the backward `undo(grad)`.
template <typename Undo>
Tensor view(const Tensor& a, const Dims& sizes, const Dims& strides, const Undo& undo) {
  const auto make_backward = [&] {
    return [undo](Node&, Gradients& grads) -> Gradients { return {undo(grads[0])}; };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  Tensor result = as_strided(a, sizes, strides);
  result.impl()->is_view = true;
  set_history(result, node);
  return result;
}

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
  const std::optional<Dims> strides = view_strides(a, sizes);
  if (!strides) return reshape(contiguous(a), sizes);
  return view(a, sizes, *strides,
              [from = a.sizes()](const Tensor& grad) { return reshape(grad, from); });
}

Dims flat(const Tensor& a) { return {a.numel() / a.size(-1), a.size(-1)}; }

Tensor transpose(const Tensor& a, int dim0, int dim1) {
  Dims sizes = a.sizes();
  Dims strides = a.strides();
  std::swap(sizes[dim0], sizes[dim1]);
  std::swap(strides[dim0], strides[dim1]);
  return view(a, sizes, strides,
              [dim0, dim1](const Tensor& grad) { return transpose(grad, dim0, dim1); });
}

Tensor t(const Tensor& a) { return transpose(a, 0, 1); }

Tensor unsqueeze(const Tensor& a, int dim) {
  Dims sizes;
  Dims strides;
  for (int i = 0; i < a.rank(); ++i) {
    if (i == dim) {
      sizes.push_back(1);
      strides.push_back(a.size(i) * a.strides()[i]);
    }
    sizes.push_back(a.size(i));
    strides.push_back(a.strides()[i]);
  }
  return view(a, sizes, strides,
              [from = a.sizes()](const Tensor& grad) { return reshape(grad, from); });
}

Tensor expand(const Tensor& a, const Dims& sizes) {
  Dims strides = sizes;
  for (int i = 1; i <= sizes.rank(); ++i) {
    const bool own = i <= a.rank() && (a.size(-i) != 1 || sizes[-i] == 1);
    strides[-i] = own ? a.strides()[-i] : 0;
  }
  // The engine sums the gradient down to what was expanded.
  return view(a, sizes, strides, [](const Tensor& grad) { return grad; });
}

Tensor slice(const Tensor& a, int dim, std::int64_t length) {
  if (length == a.size(dim)) {
    return view(a, a.sizes(), a.strides(), [](const Tensor& grad) { return grad; });
  }
  return view(a, a.sizes().with(dim, length), a.strides(), [from = a.sizes()](const Tensor& grad) {
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

Tensor cat(const Tensor& a, const Tensor& b, int dim) {
  const std::int64_t length_a = a.size(dim);
  const std::int64_t length_b = b.size(dim);
  const auto make_backward = [&] {
    return [=](Node& self, Gradients& grads) -> Gradients {
      Gradients result;
      if (self.wants(0)) result[0] = slice(grads[0], dim, length_a);
      if (self.wants(1)) result[1] = slice(grads[0], dim, length_b);
      return result;
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a, b);
  Tensor result =
      empty(a.context(), a.sizes().with(dim, length_a + length_b), promote(a.type(), b.type()));
  set_history(result, node);
  return result;
}

void split_into(const Tensor& a, int dim, std::span<Tensor> parts) {
  const auto count = static_cast<std::int64_t>(parts.size());
  const Dims sizes = a.sizes().with(dim, a.size(dim) / count);
  const auto make_backward = [&] {
    return [whole = a.sizes()](Node&, Gradients& grads) -> Gradients {
      return {empty(grads[0].context(), whole, grads[0].type())};
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  int index = 0;
  for (Tensor& part : parts) {
    part = as_strided(a, sizes, a.strides());
    part.impl()->is_view = true;
    set_history(part, node, index++);
  }
}

}  // namespace vramfit::pytorch
