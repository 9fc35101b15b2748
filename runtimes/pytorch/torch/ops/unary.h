#pragma once

#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/tensor/graph.h"
#include "runtimes/pytorch/torch/tensor/tensor.h"

// Elementwise ops of one tensor, by what they keep for backward: tools/autograd/derivatives.yaml,
// PyTorch 2.11.
namespace vramfit::pytorch {

/// What functions of real numbers give: integers become floats.
inline ScalarType real_type(const Tensor& a) {
  return is_floating(a.type()) ? a.type() : ScalarType::Float;
}

/// Backward takes the gradient and the input, `work(grad, input)`.
template <typename Work>
Tensor keeps_input(const Tensor& a, const Work& work) {
  const auto make_backward = [&] {
    return [saved = Saved(a), work](Node&, Gradients& grads) -> Gradients {
      const Tensor input = saved.unpack();
      return {work(grads[0], input)};
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  Tensor result = empty_for({&a}, real_type(a));
  set_history(result, node);
  return result;
}

/// The same of a result.
template <typename Work>
Tensor keeps_result(const Tensor& a, const Work& work) {
  Tensor result = empty_for({&a}, real_type(a));
  const auto make_backward = [&] {
    return [saved = Saved(result), work](Node&, Gradients& grads) -> Gradients {
      const Tensor output = saved.unpack();
      return {work(grads[0], output)};
    };
  };
  set_history(result, make_node(a.context(), make_backward, a));
  return result;
}

template <typename Work>
Tensor keeps_nothing(const Tensor& a, const Work& work) {
  const auto make_backward = [&] {
    return [work](Node&, Gradients& grads) -> Gradients { return {work(grads[0])}; };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  Tensor result = like(a);
  set_history(result, node);
  return result;
}

Tensor exp(const Tensor& a);
Tensor expm1(const Tensor& a);
Tensor log(const Tensor& a);
Tensor log1p(const Tensor& a);
Tensor sqrt(const Tensor& a);
Tensor reciprocal(const Tensor& a);
Tensor cos(const Tensor& a);
Tensor sin(const Tensor& a);
Tensor erfinv(const Tensor& a);
Tensor abs(const Tensor& a);
Tensor floor(const Tensor& a);
Tensor sigmoid(const Tensor& a);
Tensor log_sigmoid(const Tensor& a);
Tensor softplus(const Tensor& a);
Tensor relu(const Tensor& a);
/// By numbers; `bounds`: how many of them, 1 or 2.
Tensor clamp(const Tensor& a, int bounds);
void clamp_(const Tensor& a, int bounds);

}  // namespace vramfit::pytorch
