#include "runtimes/pytorch/torch/ops/convolution.h"

#include "model/errors.h"
#include "runtimes/pytorch/torch/ops/cast.h"
#include "runtimes/pytorch/torch/ops/reduction.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

/// aten/src/ATen/native/Convolution.cpp (use_cudnn_depthwise): cuDNN is asked for fp16 alone, and
/// for what does not take each channel by itself; its workspace is its own.
void refuse_cudnn(const Tensor& x, const Tensor& weight, std::int64_t groups) {
  constexpr std::int64_t kLeastChannels = 32;
  const bool by_channel = groups == x.size(1) && groups > 1 && weight.size(0) % groups == 0;
  const bool half = x.type() == ScalarType::Half && x.size(1) >= kLeastChannels;
  if (!by_channel || half) throw BadInput("a convolution by cuDNN is not predicted yet");
}

}  // namespace

// aten/src/ATen/native/cuda/DepthwiseConv2d.cu
Tensor conv1d(const Tensor& x_in, const Tensor& weight_in, const Tensor& bias_in,
              const ConvolutionOptions& options) {
  const Tensor bias = lower(bias_in);
  const Tensor weight = lower(weight_in);
  const Tensor x = lower(x_in);
  Context& context = x.context();
  refuse_cudnn(x, weight, options.groups);
  const auto make_backward = [&] {
    return [input = Saved(x), kernel = Saved(weight)](Node& self, Gradients& grads) -> Gradients {
      const Tensor in = input.unpack();
      const Tensor taps = kernel.unpack();
      Context& c = grads[0].context();
      Gradients result;
      const Tensor grad = contiguous(grads[0]);
      const Tensor rows = contiguous(in);
      if (self.wants(1)) result[1] = empty(c, taps.sizes(), taps.type());
      if (self.wants(0)) result[0] = empty(c, in.sizes(), in.type());
      if (self.wants(2)) result[2] = sum(grads[0], bit(0) | bit(2), false);
      return result;
    };
  };
  const Ref<Node> node = make_node(context, make_backward, x, weight, bias);
  const std::int64_t reach = options.dilation * (weight.size(2) - 1) + 1;
  const std::int64_t length = (x.size(2) + 2 * options.padding - reach) / options.stride + 1;
  const Tensor in = contiguous(x.detach());
  Tensor result = empty(context, {x.size(0), weight.size(0), length}, x.type());
  set_history(result, node);
  return result;
}

}  // namespace vramfit::pytorch
