#include "runtimes/pytorch/torch/ops/binary.h"

#include "model/errors.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/ops/unary.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

Gradients grads_of_difference(const Node& self, const Gradients& grads) {
  Gradients result;
  if (self.wants(1)) result[1] = like(grads[0]);
  if (self.wants(0)) result[0] = grads[0];
  return result;
}

// -grad * ((self / other) / other), whose operands GCC evaluates from the right
Gradients grads_of_quotient(const Node& self, const Gradients& grads, const Tensor& own,
                            const Tensor& other) {
  Gradients result;
  if (self.wants(1)) {
    const Tensor quotient = like(own, other);
    const Tensor twice = like(quotient, other);
    const Tensor negated = like(grads[0]);
    result[1] = like(negated, twice);
  }
  if (self.wants(0)) result[0] = like(grads[0], other);
  return result;
}

}  // namespace

Tensor sub(const Tensor& a, const Tensor& b) {
  const auto make_backward = [] {
    return [](Node& self, Gradients& grads) { return grads_of_difference(self, grads); };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a, b);
  Tensor result = like(a, b);
  set_history(result, node);
  return result;
}

Tensor div(const Tensor& a, const Tensor& b) {
  const auto make_backward = [&] {
    return [saved_a = Saved(b.requires_grad() ? a : Tensor()), saved_b = Saved(b)](
               Node& self, Gradients& grads) -> Gradients {
      const Tensor other = saved_b.unpack();
      const Tensor own = saved_a.unpack();
      return grads_of_quotient(self, grads, own, other);
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a, b);
  const ScalarType type = result_type(a, b);
  Tensor result = empty_for({&a, &b}, is_floating(type) ? type : ScalarType::Float);
  set_history(result, node);
  return result;
}

Tensor extremum(const Tensor& a, const Tensor& b) {
  const auto make_backward = [&] {
    return [saved_a = Saved(a), saved_b = Saved(b)](Node& self, Gradients& grads) -> Gradients {
      const Tensor own = saved_a.unpack();
      const Tensor other = saved_b.unpack();
      // where(self == other, grad / 2, grad).masked_fill_(self < other, 0)
      const bool masks_first = grads[0].context().release.rules.extremum_masks_first;
      const auto one = [&] {
        if (masks_first) {
          const Tensor same = empty_for({&own, &other}, ScalarType::Bool);
          const Tensor half = like(grads[0]);
          const Tensor less = empty_for({&own, &other}, ScalarType::Bool);
          return empty_for({&same, &half, &grads[0]}, grads[0].type());
        }
        const Tensor half = like(grads[0]);
        const Tensor same = empty_for({&own, &other}, ScalarType::Bool);
        Tensor result = empty_for({&same, &half, &grads[0]}, grads[0].type());
        const Tensor less = empty_for({&own, &other}, ScalarType::Bool);
        return result;
      };
      Gradients result;
      if (self.wants(1)) result[1] = one();
      if (self.wants(0)) result[0] = one();
      return result;
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a, b);
  Tensor result = like(a, b);
  set_history(result, node);
  return result;
}

namespace {

/// where(condition, grad, 0): the 0 is a tensor on the GPU.
Tensor grad_where(const Tensor& condition, const Tensor& grad) {
  const Tensor zero = empty(grad.context(), {}, grad.type());
  return empty_for({&condition, &grad, &zero}, grad.type());
}

}  // namespace

// aten/src/ATen/native/TensorCompare.cpp (where, where_self_out).
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  Context& context = condition.context();
  const auto make_backward = [&] {
    return [saved = Saved(condition)](Node& self, Gradients& grads) -> Gradients {
      const Tensor kept = saved.unpack();
      Gradients result;
      if (self.wants(1)) result[1] = grad_where(kept, grads[0]);
      if (self.wants(0)) result[0] = grad_where(kept, grads[0]);
      return result;
    };
  };
  const Ref<Node> node = make_node(context, make_backward, a, b);
  const ScalarType type = result_type(a, b);
  const auto cast = [&](const Tensor& each) {
    return each.type() == type ? each : empty_for({&each}, type);
  };
  const Tensor own = cast(a);
  const Tensor other = cast(b);
  Tensor result = empty_for({&condition, &own, &other}, type);
  set_history(result, node);
  return result;
}

namespace {

/// A number becomes a tensor without dimensions, of this type.
ScalarType type_beside(const Tensor& a, ScalarType number) {
  const bool wider =
      !is_floating(a.type()) && (is_floating(number) || a.type() == ScalarType::Bool);
  return wider ? number : a.type();
}

}  // namespace

Tensor where_else(const Tensor& condition, const Tensor& a, ScalarType number) {
  const ScalarType type = type_beside(a, number);
  const Tensor scalar = empty(condition.context(), {}, type);
  return where(condition, to(a, type), scalar);
}

Tensor where_number(const Tensor& condition, ScalarType number, const Tensor& b) {
  const ScalarType type = type_beside(b, number);
  const Tensor scalar = empty(condition.context(), {}, type);
  return where(condition, scalar, to(b, type));
}

namespace {

/// pow_backward_self: where(exponent == 0, 0, grad * (exponent * self.pow(exponent - 1))).
Tensor grad_of_base(const Tensor& grad, const Tensor& base, const Tensor& exponent) {
  const Tensor less = like(exponent);
  const Tensor raised = like(base, less);
  const Tensor scaled = like(exponent, raised);
  const Tensor product = like(grad, scaled);
  const Tensor zero = empty(grad.context(), {}, grad.type());
  const Tensor none = empty_for({&exponent}, ScalarType::Bool);
  return empty_for({&none, &zero, &product}, grad.type());
}

}  // namespace

Tensor power(const Tensor& base, const Tensor& exponent) {
  if (exponent.requires_grad()) {
    throw BadInput("a power's gradient by its exponent is not predicted yet");
  }
  if (!base.defined()) {
    Tensor result = like(exponent);
    const Tensor number = empty(exponent.context(), {1}, ScalarType::Long);  // or a double
    exponent.context().use_asserts();
    return result;
  }
  Tensor result = like(base, exponent);
  const auto make_backward = [&] {
    return [saved_base = Saved(base), saved_exponent = Saved(exponent), saved = Saved(result)](
               Node&, Gradients& grads) -> Gradients {
      const Tensor own = saved_base.unpack();
      const Tensor other = saved_exponent.unpack();
      const Tensor kept = saved.unpack();
      return {grad_of_base(grads[0], own, other)};
    };
  };
  set_history(result, make_node(base.context(), make_backward, base));
  return result;
}

void add_(const Tensor& a, const Tensor& b) {
  const auto make_backward = [] {
    return [](Node&, Gradients& grads) -> Gradients { return {grads[0], grads[0]}; };
  };
  rebase_history(a, make_node(a.context(), make_backward, a, b));
}

void sub_(const Tensor& a, const Tensor& b) {
  const auto make_backward = [] {
    return [](Node& self, Gradients& grads) { return grads_of_difference(self, grads); };
  };
  rebase_history(a, make_node(a.context(), make_backward, a, b));
}

void mul_(const Tensor& a, const Tensor& b) {
  const auto make_backward = [&] {
    return [saved_a = Saved(b.requires_grad() ? clone(a) : Tensor()),
            saved_b = Saved(a.requires_grad() ? b : Tensor())](Node& self,
                                                               Gradients& grads) -> Gradients {
      const Tensor other = saved_b.unpack();
      const Tensor own = saved_a.unpack();
      Gradients result;
      if (self.wants(1)) result[1] = like(grads[0], own);
      if (self.wants(0)) result[0] = like(grads[0], other);
      return result;
    };
  };
  rebase_history(a, make_node(a.context(), make_backward, a, b));
}

void div_(const Tensor& a, const Tensor& b) {
  const auto make_backward = [&] {
    return [saved_a = Saved(b.requires_grad() ? clone(a) : Tensor()), saved_b = Saved(b)](
               Node& self, Gradients& grads) -> Gradients {
      const Tensor own = saved_a.unpack();
      const Tensor other = saved_b.unpack();
      return grads_of_quotient(self, grads, own, other);
    };
  };
  rebase_history(a, make_node(a.context(), make_backward, a, b));
}

void copy_(const Tensor& a, const Tensor& from) {
  const auto make_backward = [] {
    return [](Node& self, Gradients& grads) -> Gradients {
      Gradients result;
      if (self.wants(0)) result[0] = empty(grads[0].context(), grads[0].sizes(), grads[0].type());
      if (self.wants(1)) result[1] = to(grads[0], self.input_types[1]);
      return result;
    };
  };
  rebase_history(a, make_node(a.context(), make_backward, a, from));
}

}  // namespace vramfit::pytorch
