#include "runtimes/pytorch/torch/ops/view.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "model/errors.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

/// at::detail::computeStride: strides of a view with other sizes, if there is one.
std::optional<Dims> view_strides(const Tensor& a, const Dims& sizes) {
  if (a.rank() == 0 || a.numel() == 0) return contiguous_strides(sizes);
  Dims strides = sizes;
  int view_dim = sizes.rank() - 1;
  std::int64_t base_stride = a.strides()[-1];
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

Tensor unsafe_view(const Tensor& a, const Dims& sizes) {
  Tensor result = reshape(a, sizes);
  result.impl()->is_view = false;
  result.impl()->base.reset();
  return result;
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
  for (int i = 0; i < a.rank(); ++i) {
    if (i == dim) {
      sizes.push_back(1);
      strides.push_back(a.size(i) * a.strides()[i]);
    }
    sizes.push_back(a.size(i));
    strides.push_back(a.strides()[i]);
  }
  if (dim == a.rank()) {
    sizes.push_back(1);
    strides.push_back(1);
  }
  return view_of(a, sizes, strides, [dim](const Tensor& grad) { return squeeze(grad, bit(dim)); });
}

Tensor permute(const Tensor& a, const Dims& order) {
  Dims sizes;
  Dims strides;
  Dims back = order;
  for (int i = 0; i < order.rank(); ++i) {
    const auto dim = static_cast<int>(order[i]);
    sizes.push_back(a.size(dim));
    strides.push_back(a.strides()[dim]);
    back[dim] = i;
  }
  return view_of(a, sizes, strides, [back](const Tensor& grad) { return permute(grad, back); });
}

Tensor squeeze(const Tensor& a, DimMask mask) {
  Dims strides;
  for (int i = 0; i < a.rank(); ++i) {
    if ((mask & bit(i)) == 0) strides.push_back(a.strides()[i]);
  }
  return view_of(a, reduced_sizes(a.sizes(), mask, false), strides,
                 [mask, rank = a.rank()](Tensor grad) {
                   for (int i = 0; i < rank; ++i) {
                     if ((mask & bit(i)) != 0) grad = unsqueeze(grad, i);
                   }
                   return grad;
                 });
}

Tensor select(const Tensor& a, int dim) {
  Dims strides;
  for (int i = 0; i < a.rank(); ++i) {
    if (i != dim) strides.push_back(a.strides()[i]);
  }
  return view_of(a, reduced_sizes(a.sizes(), bit(dim), false), strides,
                 [from = a.sizes()](const Tensor& grad) {
                   return empty(grad.context(), from, grad.type());  // zeros, then copied into
                 });
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

Tensor slice_op(const Tensor& a, int dim, std::int64_t length, std::int64_t step) {
  const Dims strides = a.strides().with(dim, a.strides()[dim] * step);
  return view_of(a, a.sizes().with(dim, length), strides, [from = a.sizes()](const Tensor& grad) {
    return empty(grad.context(), from, grad.type());  // zeros, then copied into
  });
}

Tensor slice(const Tensor& a, int dim, std::int64_t length) {
  if (length != a.size(dim)) return slice_op(a, dim, length, 1);
  return view_of(a, a.sizes(), a.strides(), [](const Tensor& grad) { return grad; });
}

Tensor view_as_complex(const Tensor& a) {
  if (a.type() != ScalarType::Float) {
    throw BadInput("complex numbers other than of two fp32 are not predicted yet");
  }
  Dims sizes;
  Dims strides;
  for (int i = 0; i + 1 < a.rank(); ++i) {
    sizes.push_back(a.size(i));
    strides.push_back(a.strides()[i] / 2);
  }
  Tensor result =
      view_of(a, sizes, strides, [](const Tensor& grad) { return view_as_real(contiguous(grad)); });
  result.impl()->type = ScalarType::ComplexFloat;
  return result;
}

Tensor view_as_real(const Tensor& a) {
  Dims sizes;
  Dims strides;
  for (int i = 0; i < a.rank(); ++i) {
    sizes.push_back(a.size(i));
    strides.push_back(a.strides()[i] * 2);
  }
  sizes.push_back(2);
  strides.push_back(1);
  Tensor result = view_of(a, sizes, strides,
                          [](const Tensor& grad) { return view_as_complex(contiguous(grad)); });
  result.impl()->type = ScalarType::Float;
  return result;
}

namespace {

Tensor copied(const Tensor& a, const auto& make_result) {
  const auto make_backward = [&] {
    return [](Node&, Gradients& grads) -> Gradients { return {grads[0]}; };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  Tensor result = make_result();
  set_history(result, node);
  return result;
}

}  // namespace

Tensor clone(const Tensor& a) {
  return copied(a, [&] { return preserved(a, a.type()); });
}

Tensor contiguous_copy(const Tensor& a) {
  return copied(a, [&] { return empty(a.context(), a.sizes(), a.type()); });
}

Tensor contiguous(const Tensor& a) { return a.is_contiguous() ? a : contiguous_copy(a); }

}  // namespace vramfit::pytorch
