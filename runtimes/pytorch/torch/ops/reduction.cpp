#include "runtimes/pytorch/torch/ops/reduction.h"

#include <cmath>

#include "model/errors.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

/// A value with its place: std::pair<scalar, int64_t>, or of a float.
constexpr Reduction kWithPlace = {16, false};

/// WelfordData of floats: a mean, a second moment, and two counts.
constexpr Reduction kWelford = {16, false};

/// What sums are kept in: floating-point types in fp32. A result of 16 bits cannot hold that.
Reduction summed(ScalarType in, ScalarType out) {
  const std::int64_t bytes = element_size(is_floating(in) ? ScalarType::Float : in);
  return {bytes, element_size(out) >= bytes};
}

/// unsqueeze_multiple, then an expansion.
Tensor spread(Tensor grad, const Dims& sizes, DimMask mask, bool keepdim) {
  for (int i = 0; i < sizes.rank() && !keepdim; ++i) {
    if ((mask & bit(i)) != 0) grad = unsqueeze(grad, i);
  }
  return expand(grad, sizes);
}

/// `scales` the gradient as a mean does.
Tensor reduced(const Tensor& a, DimMask mask, bool keepdim, std::optional<ScalarType> type,
               bool scales) {
  const ScalarType out = type.value_or(is_floating(a.type()) ? a.type() : ScalarType::Long);
  const auto make_backward = [&] {
    return [from = a.sizes(), mask, keepdim, scales](Node&, Gradients& grads) -> Gradients {
      const Tensor grad = spread(grads[0], from, mask, keepdim);
      return {scales ? mul_scalar(grad) : grad};
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  Tensor result = empty(a.context(), reduced_sizes(a.sizes(), mask, keepdim), out);
  // make_reduction_from_out_ty: 16 bits become fp32 within the kernel.
  const bool within = is_half(a.type()) && out == ScalarType::Float;
  const Tensor in = within || a.type() == out ? a : empty_for({&a}, out);
  use_reduce_kernel(in, mask, summed(in.type(), out));
  set_history(result, node);
  return result;
}

}  // namespace

Tensor mean_last(const Tensor& a) { return mean(a, bit(a.rank() - 1), true); }

Tensor mean(const Tensor& a, DimMask dims, bool keepdim, std::optional<ScalarType> type) {
  return reduced(a, dims, keepdim, type, true);
}

Tensor sum(const Tensor& a, DimMask dims, bool keepdim, std::optional<ScalarType> type) {
  return reduced(a, dims, keepdim, type, false);
}

// std_backward and var_backward (FunctionsManual.cpp).
Tensor standard_deviation(const Tensor& a, DimMask dims, bool keepdim) {
  Tensor result = empty(a.context(), reduced_sizes(a.sizes(), dims, keepdim), a.type());
  use_reduce_kernel(a, dims, kWelford);
  const auto make_backward = [&] {
    return [input = Saved(a), saved = Saved(result), dims, keepdim](Node&,
                                                                    Gradients& grads) -> Gradients {
      const Tensor in = input.unpack();
      Tensor grad;
      {
        const Tensor out = saved.unpack();
        const Tensor twice = like(out);
        grad = like(grads[0], twice);
        masked_fill_(grad, empty_for({&out}, ScalarType::Bool));
      }
      if (!keepdim) grad = reshape(grad, reduced_sizes(in.sizes(), dims, true));
      const Tensor average = mean(in, dims, true);
      const Tensor from_average = like(in, average);
      const Tensor scaled = like(grad);
      return {like(scaled, from_average)};
    };
  };
  set_history(result, make_node(a.context(), make_backward, a));
  return result;
}

Tensor sum_to(Tensor a, const Dims& sizes) {
  const int leading = a.rank() - sizes.rank();
  DimMask mask = all_dims(leading);
  for (int i = leading; i < a.rank(); ++i) {
    if (sizes[i - leading] == 1 && a.size(i) != 1) mask |= bit(i);
  }
  if (mask != 0) a = sum(a, mask, true);
  return leading > 0 ? reshape(a, sizes) : a;
}

// aten/src/ATen/native/ReduceOps.cpp (allany_impl).
Tensor any(const Tensor& a, DimMask dims, bool keepdim) {
  Tensor result = empty(a.context(), reduced_sizes(a.sizes(), dims, keepdim), ScalarType::Bool,
                        Category::Inputs);
  if (a.numel() == 1) {
    to(a, ScalarType::Bool);  // then copied
  } else {
    const bool bools = a.context().release.rules.logic_of_bools;
    use_reduce_kernel(a, dims, {element_size(bools ? ScalarType::Bool : a.type())});
  }
  return result;
}

// isin_default_kernel_gpu: below 10 * n^0.145 tests all are compared; else both would be sorted.
Tensor isin(const Tensor& elements, std::int64_t tests) {
  Tensor result = empty(elements.context(), elements.sizes(), ScalarType::Bool, Category::Inputs);
  if (elements.numel() == 0) return result;
  if (static_cast<double>(tests) >= 10 * std::pow(static_cast<double>(elements.numel()), 0.145)) {
    throw BadInput("isin of so many tests is not predicted yet");
  }
  Dims sizes = elements.sizes();
  sizes.push_back(tests);
  const Tensor equal = empty(elements.context(), sizes, ScalarType::Bool, Category::Workspace);
  any(equal, bit(sizes.rank() - 1), false);
  return result;
}

Tensor in_places(const Tensor& grad, const Dims& sizes) {
  return empty(grad.context(), sizes, grad.type());
}

std::vector<Tensor> extremes(const Tensor& a, int dim, bool keepdim) {
  Context& context = a.context();
  const Dims sizes = reduced_sizes(a.sizes(), bit(dim), keepdim);
  Tensor values = empty(context, sizes, a.type());
  Tensor places = empty(context, sizes, ScalarType::Long);
  use_reduce_kernel(a, bit(dim), kWithPlace);
  const auto make_backward = [&] {
    return [saved = Saved(places), from = a.sizes()](Node&, Gradients& grads) -> Gradients {
      const Tensor kept = saved.unpack();
      return {in_places(grads[0], from)};
    };
  };
  set_history(values, make_node(context, make_backward, a));
  return {std::move(values), std::move(places)};
}

Tensor extreme(const Tensor& a) {
  if (needs_graph(a.context(), a)) {
    throw BadInput("the gradient of max over all elements is not predicted yet");
  }
  Tensor result = empty(a.context(), {}, a.type());
  const Tensor in = contiguous(a);
  use_reduce_kernel(in, all_dims(in.rank()), {element_size(a.type())});
  return result;
}

Tensor argmax(const Tensor& a, int dim, bool keepdim) {
  Tensor result = empty(a.context(), reduced_sizes(a.sizes(), bit(dim), keepdim), ScalarType::Long);
  if (a.size(dim) != 1) use_reduce_kernel(a, bit(dim), kWithPlace);
  return result;
}

Tensor argmax(const Tensor& a) {
  Tensor result = empty(a.context(), {}, ScalarType::Long);
  const Tensor flat_one = reshape(a, {a.numel()});
  use_reduce_kernel(flat_one, bit(0), kWithPlace);
  return result;
}

// aten/src/ATen/native/ReduceOps.cpp (logsumexp_out_impl).
Tensor logsumexp(const Tensor& a, DimMask dims, bool keepdim) {
  Context& context = a.context();
  const Dims kept_sizes = reduced_sizes(a.sizes(), dims, true);
  const Tensor maxes = empty(context, kept_sizes, a.type());
  use_reduce_kernel(a, dims, {element_size(a.type())});
  {
    const Tensor absolute = like(maxes);
    const Tensor infinite = empty_for({&maxes}, ScalarType::Bool);
  }
  const Tensor shifted = like(a, maxes);
  Tensor result = empty(context, reduced_sizes(a.sizes(), dims, keepdim), a.type());
  use_reduce_kernel(shifted, dims, summed(a.type(), a.type()));
  const auto make_backward = [&] {
    return [input = Saved(a), saved = Saved(result), from = a.sizes(), dims, keepdim](
               Node&, Gradients& grads) -> Gradients {
      // grad * (self - result).exp()
      const Tensor in = input.unpack();
      const Tensor out = saved.unpack();
      const Tensor grad = keepdim ? grads[0] : reshape(grads[0], reduced_sizes(from, dims, true));
      const Tensor sums = keepdim ? out : reshape(out, reduced_sizes(from, dims, true));
      const Tensor difference = like(in, sums);
      const Tensor exponential = like(difference);
      return {like(grad, exponential)};
    };
  };
  set_history(result, make_node(context, make_backward, a));
  return result;
}

Tensor vector_norm(const Tensor& a, DimMask dims, bool keepdim, std::optional<ScalarType> type) {
  if (needs_graph(a.context(), a)) throw BadInput("a norm's gradient is not predicted yet");
  const ScalarType out = type.value_or(a.type());
  Tensor result = empty(a.context(), reduced_sizes(a.sizes(), dims, keepdim), out);
  // Of one element each: its absolute value.
  if (result.numel() == a.numel()) {
    to(a, out);
  } else {
    use_reduce_kernel(a, dims, summed(a.type(), out));
  }
  return result;
}

Tensor reduce_dim(const Tensor& a, int dim) {
  Tensor result = empty(a.context(), a.sizes().with(dim, 1), a.type(), Category::Workspace);
  use_reduce_kernel(a, bit(a.rank() + dim), summed(a.type(), a.type()));
  return result;
}

Tensor reduce_all(const Tensor& a) {
  Tensor result = empty(a.context(), {}, a.type(), Category::Workspace);
  use_reduce_kernel(a, all_dims(a.rank()), summed(a.type(), a.type()));
  return result;
}

}  // namespace vramfit::pytorch
