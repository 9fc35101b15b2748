#include "runtimes/pytorch/torch/ops/normalization.h"

#include "runtimes/pytorch/torch/ops/cast.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {

// native_layer_norm and its backward: aten/src/ATen/native/cuda/layer_norm_kernel.cu.
Tensor layer_norm(const Tensor& x_in, const Tensor& weight_in, const Tensor& bias_in) {
  Context& context = x_in.context();
  const Tensor bias = upper(bias_in);
  const Tensor weight = upper(weight_in);
  const Tensor x = upper(x_in);
  const Tensor result = empty(context, x.sizes(), x.type());
  // Statistics are kept in the accumulation type where weights and input are both 16 bits wide.
  const Dims rows = x.sizes().with(-1, 1);
  const Tensor mean = empty(context, rows, ScalarType::Float);
  const Tensor rstd = empty(context, rows, ScalarType::Float);
  const auto make_backward = [&] {
    return [input = Saved(x), gamma = Saved(weight), beta = Saved(bias), mean = Saved(mean),
            rstd = Saved(rstd)](Node& self, Gradients& grads) -> Gradients {
      const Tensor in = input.unpack();
      const Tensor scale = gamma.unpack();
      const Tensor rest[] = {beta.unpack(), mean.unpack(), rstd.unpack()};
      const Tensor grad = contiguous(grads[0]);
      Context& c = grad.context();
      Gradients outputs;
      if (self.wants(0)) outputs[0] = empty(c, in.sizes(), in.type());
      if (self.wants(1)) outputs[1] = empty(c, scale.sizes(), scale.type());
      if (self.wants(2)) outputs[2] = empty(c, scale.sizes(), scale.type());
      return outputs;
    };
  };
  set_history(result, make_node(context, make_backward, x, weight, bias));
  return result;
}

Tensor softmax(const Tensor& x_in, bool in_float) {
  const Tensor x = upper(x_in);
  // aten/src/ATen/native/SoftMax.cpp: the conversion is part of the kernel for fp16 only.
  const bool fused = in_float && x.type() == ScalarType::Half;
  const Tensor converted = in_float && !fused ? to(x, ScalarType::Float) : x;
  const Tensor result = empty(x.context(), x.sizes(), fused ? ScalarType::Float : converted.type());
  const auto make_backward = [&] {
    return [saved = Saved(result), type = converted.type()](Node&, Gradients& grads) -> Gradients {
      const Tensor output = saved.unpack();
      // aten/src/ATen/native/cuda/SoftMax.cu, softmax_backward_cuda_out:
      // grad * output on the way.
      Tensor grad = empty(output.context(), output.sizes(), type);
      const Tensor product = empty_for({&grads[0], &output}, output.type());
      return {std::move(grad)};
    };
  };
  set_history(result, make_node(x.context(), make_backward, converted));
  return result;
}

}  // namespace vramfit::pytorch
