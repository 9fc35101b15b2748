#include "runtimes/pytorch/torch/ops/elementwise.h"

#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/ops/unary.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {

ScalarType promote(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (is_complex(a) || is_complex(b)) return ScalarType::ComplexFloat;
  if (is_floating(a) && is_floating(b)) return ScalarType::Float;
  if (is_floating(a) || b == ScalarType::Bool) return a;
  if (is_floating(b) || a == ScalarType::Bool) return b;
  if (element_size(a) != element_size(b)) return element_size(a) > element_size(b) ? a : b;
  return ScalarType::Long;  // none of 16 bits is here for bytes of either kind
}

Tensor add(const Tensor& a, const Tensor& b) {
  const auto make_backward = [] {
    return [](Node& self, Gradients& grads) -> Gradients {
      Gradients result;
      if (self.wants(0)) result[0] = grads[0];
      if (self.wants(1)) result[1] = grads[0];
      return result;
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a, b);
  Tensor result = like(a, b);
  set_history(result, node);
  return result;
}

namespace {

/// Tensor.conj of complex numbers is made as it is used.
Tensor conjugate(const Tensor& a) {
  return a.defined() && is_complex(a.type()) ? preserved(a, a.type()) : a;
}

}  // namespace

Tensor mul(const Tensor& a, const Tensor& b) {
  const auto make_backward = [&] {
    return [saved_a = Saved(b.requires_grad() ? a : Tensor()),
            saved_b = Saved(a.requires_grad() ? b : Tensor())](Node& self,
                                                               Gradients& grads) -> Gradients {
      const Tensor other = saved_b.unpack();
      const Tensor own = saved_a.unpack();
      Gradients result;
      // In the order of names: "other" before "self".
      if (self.wants(1)) result[1] = mul(grads[0], conjugate(own));
      if (self.wants(0)) result[0] = mul(grads[0], conjugate(other));
      return result;
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a, b);
  Tensor result = like(a, b);
  set_history(result, node);
  return result;
}

void scale_(const Tensor& a) {
  const auto make_backward = [] {
    return [](Node&, Gradients& grads) -> Gradients { return {like(grads[0])}; };
  };
  rebase_history(a, make_node(a.context(), make_backward, a));
}

namespace {

// aten/src/ATen/native/TensorAdvancedIndexing.cpp (masked_fill): filled in a contiguous copy.
Tensor filled(const Tensor& a, const Tensor& mask) {
  return empty(a.context(), broadcast(a.sizes(), mask.sizes()), a.type());
}

Ref<Node> masked_node(const Tensor& a, const Tensor& mask) {
  const auto make_backward = [&] {
    return [saved = Saved(mask)](Node&, Gradients& grads) -> Gradients {
      const Tensor kept = saved.unpack();
      return {filled(grads[0], kept)};
    };
  };
  return make_node(a.context(), make_backward, a);
}

}  // namespace

Tensor masked_fill(const Tensor& a, const Tensor& mask) {
  const Ref<Node> node = masked_node(a, mask);
  Tensor result = filled(a, mask);
  set_history(result, node);
  return result;
}

void masked_fill_(const Tensor& a, const Tensor& mask) { rebase_history(a, masked_node(a, mask)); }

Tensor add_scalar(const Tensor& a) {
  return keeps_nothing(a, [](const Tensor& grad) { return grad; });
}

Tensor mul_scalar(const Tensor& a) {
  return keeps_nothing(a, [](const Tensor& grad) { return like(grad); });
}

Tensor neg(const Tensor& a) {
  return keeps_nothing(a, [](const Tensor& grad) { return like(grad); });
}

Tensor pow(const Tensor& a) {
  return keeps_input(a, [](const Tensor& grad, const Tensor& input) {
    // pow_backward: grad * (exponent * self.pow(exponent - 1))
    const Tensor power = like(input);
    const Tensor scaled = like(power);
    return like(grad, scaled);
  });
}

Tensor rsqrt(const Tensor& a) {
  return keeps_result(a, [](const Tensor& grad, const Tensor& result) {
    // -0.5 * grad * result.pow(3)
    const Tensor scaled = like(grad);
    const Tensor power = like(result);
    return like(scaled, power);
  });
}

Tensor tanh(const Tensor& a) {
  return keeps_result(a,
                      [](const Tensor& grad, const Tensor& result) { return like(grad, result); });
}

Tensor silu(const Tensor& a) {
  return keeps_input(a, [](const Tensor& grad, const Tensor& input) { return like(grad, input); });
}

Tensor gelu(const Tensor& a) {
  return keeps_input(a, [](const Tensor& grad, const Tensor& input) { return like(grad, input); });
}

// aten/src/ATen/native/cuda/Dropout.cu: the mask comes first, then the output.
Tensor dropout(const Tensor& a, double p, bool training) {
  if (p == 0 || !training) return a;
  const Tensor mask = preserved(a, ScalarType::Bool);
  Tensor result = preserved(a, a.type());
  const auto make_backward = [&] {
    return [saved = Saved(mask)](Node&, Gradients& grads) -> Gradients {
      const Tensor kept = saved.unpack();
      return {empty(kept.context(), kept.sizes(), grads[0].type())};
    };
  };
  set_history(result, make_node(a.context(), make_backward, a));
  return result;
}

// Copy.cu has kernels of their own for casts to 16 bits.
Tensor to(const Tensor& a, ScalarType type) {
  if (a.type() == type) return a;
  if (!is_half(type)) a.context().use_asserts();
  const auto make_backward = [&] {
    return [from = a.type()](Node&, Gradients& grads) -> Gradients { return {to(grads[0], from)}; };
  };
  const Ref<Node> node = is_floating(type) ? make_node(a.context(), make_backward, a) : Ref<Node>();
  Tensor result = preserved(a, type);
  set_history(result, node);
  return result;
}

Tensor pointwise_no_grad(const Tensor& a, ScalarType type) { return empty_for({&a}, type); }

}  // namespace vramfit::pytorch
