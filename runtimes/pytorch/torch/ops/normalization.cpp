#include "runtimes/pytorch/torch/ops/normalization.h"

#include <algorithm>
#include <utility>

#include "model/checked.h"
#include "runtimes/pytorch/torch/ops/cast.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/ops/reduction.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

/// LaunchGammaBetaBackwardCUDAKernel: many short rows are summed by many blocks first.
std::int64_t blocks_of_rows(const Context& context, std::int64_t rows, std::int64_t width) {
  constexpr std::int64_t kManyRows = 64 * 1024;
  constexpr std::int64_t kColumns = 32;
  constexpr std::int64_t kRows = 32;
  constexpr std::int64_t kMostBlocks = 64 * 1024 / 2;
  if (rows <= kManyRows || width / kColumns >= context.multiprocessors / 2) return 0;
  return std::min(kMostBlocks / div_up(width, kColumns), div_up(rows, kRows));
}

/// Gradients of weight and bias, both there already.
void sum_blocks(Tensor& gamma, Tensor& beta, std::int64_t blocks) {
  const auto parts_of = [&](const Tensor& each) {
    return each.defined() ? empty(each.context(), {blocks, each.numel()}, each.type()) : Tensor();
  };
  const Tensor gamma_parts = parts_of(gamma);
  const Tensor beta_parts = parts_of(beta);
  if (gamma.defined()) gamma = sum(gamma_parts, bit(0), false);
  if (beta.defined()) beta = sum(beta_parts, bit(0), false);
}

}  // namespace

// native_layer_norm and its backward: aten/src/ATen/native/cuda/layer_norm_kernel.cu.
Tensor layer_norm(const Tensor& x_in, const Tensor& weight_in, const Tensor& bias_in) {
  Context& context = x_in.context();
  const Tensor bias = upper(bias_in);
  const Tensor weight = upper(weight_in);
  const Tensor x = upper(x_in);
  const Tensor in_rows = contiguous(x.detach());
  const Tensor result = empty(context, x.sizes(), x.type());
  // Statistics are kept in the accumulation type where weights and input are both 16 bits wide.
  const Dims rows = x.sizes().with(-1, 1);
  const Tensor mean = empty(context, rows, ScalarType::Float);
  const Tensor rstd = empty(context, rows, ScalarType::Float);
  const auto make_backward = [&] {
    return [input = Saved(x), gamma = Saved(weight), beta = Saved(bias), mean = Saved(mean),
            rstd = Saved(rstd)](Node& self, Gradients& grads) -> Gradients {
      const Tensor kept = input.unpack();
      const Tensor scale = gamma.unpack();
      const Tensor shift = beta.unpack();
      const Tensor rest[] = {mean.unpack(), rstd.unpack()};
      const Tensor grad = contiguous(grads[0]);
      const Tensor in = contiguous(kept);
      Context& c = grad.context();
      Gradients outputs;
      if (self.wants(0)) outputs[0] = empty(c, in.sizes(), in.type());
      if (self.wants(1)) outputs[1] = empty(c, scale.sizes(), scale.type());
      if (self.wants(2)) outputs[2] = empty(c, shift.sizes(), shift.type());
      const std::int64_t width = in.size(-1);
      const std::int64_t blocks = blocks_of_rows(c, in.numel() / width, width);
      if (blocks > 0) sum_blocks(outputs[1], outputs[2], blocks);
      return outputs;
    };
  };
  set_history(result, make_node(context, make_backward, x, weight, bias));
  return result;
}

namespace {

/// aten/src/ATen/native/SoftMax.cpp and cuda/SoftMax.cu; `times_output`: grad * output is made on
/// the way back.
Tensor softmax_of(const Tensor& x, bool in_float, bool times_output) {
  // The conversion is part of the kernel for fp16 only.
  const bool fused = in_float && x.type() == ScalarType::Half;
  const Tensor converted = in_float && !fused ? to(x, ScalarType::Float) : x;
  const Tensor result = empty(x.context(), x.sizes(), fused ? ScalarType::Float : converted.type());
  contiguous(converted.detach());
  const auto make_backward = [&] {
    return [saved = Saved(result), type = converted.type(), times_output](
               Node&, Gradients& grads) -> Gradients {
      const Tensor output = saved.unpack();
      Tensor grad = empty(output.context(), output.sizes(), type);
      const Tensor product =
          times_output ? empty_for({&grads[0], &output}, output.type()) : grads[0];
      contiguous(product);
      return {std::move(grad)};
    };
  };
  set_history(result, make_node(x.context(), make_backward, converted));
  return result;
}

}  // namespace

// Autocast sets the type where none is asked for (CastPolicy::fp32_set_opt_dtype).
Tensor softmax(const Tensor& x, std::optional<ScalarType> type) {
  return softmax_of(type ? x : upper(x), type == ScalarType::Float, true);
}

Tensor log_softmax(const Tensor& x, std::optional<ScalarType> type) {
  return softmax_of(type ? x : upper(x), type == ScalarType::Float, false);
}

}  // namespace vramfit::pytorch
