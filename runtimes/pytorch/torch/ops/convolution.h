#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

struct ConvolutionOptions {
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
};

/// nn.functional.conv1d of (batch, channels, length), each channel by itself. Casts under autocast.
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const ConvolutionOptions& options);

}  // namespace vramfit::pytorch
