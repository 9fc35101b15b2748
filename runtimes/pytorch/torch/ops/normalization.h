#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// nn.functional.layer_norm over the last dimension. Runs in fp32 under autocast.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias);

/// nn.functional.softmax and log_softmax over one dimension, in fp32 where `in_float`. In fp32
/// under autocast.
Tensor softmax(const Tensor& x, bool in_float);
Tensor log_softmax(const Tensor& x, bool in_float);
/// In its own type, under autocast too.
Tensor log_softmax_as_is(const Tensor& x);

}  // namespace vramfit::pytorch
