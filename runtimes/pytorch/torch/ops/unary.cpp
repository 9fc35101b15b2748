#include "runtimes/pytorch/torch/ops/unary.h"

#include "runtimes/pytorch/torch/ops/view.h"

namespace vramfit::pytorch {
namespace {

/// grad * f(what was kept)
Tensor by_kept(const Tensor& grad, const Tensor& kept) { return like(grad, kept); }

/// grad * f(g(what was kept)): one more on the way.
Tensor by_function_of_kept(const Tensor& grad, const Tensor& kept) {
  const Tensor factor = like(kept);
  return like(grad, factor);
}

Tensor by_two_functions_of_kept(const Tensor& grad, const Tensor& kept) {
  const Tensor inner = like(kept);
  const Tensor factor = like(inner);
  return like(grad, factor);
}

/// clamp_backward: where((self >= min).logical_and_(self <= max), grad, 0).
Tensor clamped_gradient(const Tensor& grad, const Tensor& input, int bounds) {
  const Tensor zero = empty(grad.context(), {}, grad.type());
  const Tensor above = empty_for({&input}, ScalarType::Bool);
  const Tensor below = bounds == 2 ? empty_for({&input}, ScalarType::Bool) : Tensor();
  return empty_for({&above, &grad, &zero}, grad.type());
}

}  // namespace

Tensor exp(const Tensor& a) { return keeps_result(a, by_kept); }
Tensor sigmoid(const Tensor& a) { return keeps_result(a, by_kept); }
Tensor relu(const Tensor& a) {
  if (is_floating(a.type())) return keeps_result(a, by_kept);
  return like(a);
}
Tensor log(const Tensor& a) { return keeps_input(a, by_kept); }
Tensor softplus(const Tensor& a) { return keeps_input(a, by_kept); }

Tensor log_sigmoid(const Tensor& a) {
  const auto make_backward = [&] {
    return [saved = Saved(a)](Node&, Gradients& grads) -> Gradients {
      const Tensor input = saved.unpack();
      return {preserved(grads[0], grads[0].type())};
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  Tensor result = preserved(a, a.type());
  set_history(result, node);
  return result;
}

Tensor expm1(const Tensor& a) { return keeps_result(a, by_function_of_kept); }
Tensor sqrt(const Tensor& a) { return keeps_result(a, by_function_of_kept); }
Tensor log1p(const Tensor& a) { return keeps_input(a, by_function_of_kept); }
Tensor sin(const Tensor& a) { return keeps_input(a, by_function_of_kept); }
Tensor cos(const Tensor& a) { return keeps_input(a, by_two_functions_of_kept); }

Tensor abs(const Tensor& a) {
  if (is_floating(a.type())) return keeps_input(a, by_function_of_kept);
  return like(a);
}

Tensor reciprocal(const Tensor& a) {
  return keeps_result(a, [](const Tensor& grad, const Tensor& result) {
    const Tensor negated = like(grad);
    const Tensor square = like(result);
    return like(negated, square);
  });
}

Tensor erfinv(const Tensor& a) {
  return keeps_input(a, [](const Tensor& grad, const Tensor& input) {
    const Tensor inverse = like(input);
    const Tensor square = like(inverse);
    const Tensor exponential = like(square);
    const Tensor scaled = like(exponential);
    return like(scaled, grad);
  });
}

/// zeros_like(grad)
Tensor floor(const Tensor& a) {
  return keeps_nothing(a, [](const Tensor& grad) { return like(grad); });
}

Tensor clamp(const Tensor& a, int bounds) {
  if (!is_floating(a.type())) return like(a);
  return keeps_input(a, [bounds](const Tensor& grad, const Tensor& input) {
    return clamped_gradient(grad, input, bounds);
  });
}

void clamp_(const Tensor& a, int bounds) {
  const auto make_backward = [&] {
    return [saved = Saved(clone(a)), bounds](Node&, Gradients& grads) -> Gradients {
      const Tensor input = saved.unpack();
      return {clamped_gradient(grads[0], input, bounds)};
    };
  };
  rebase_history(a, make_node(a.context(), make_backward, a));
}

}  // namespace vramfit::pytorch
