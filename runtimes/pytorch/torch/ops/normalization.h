#pragma once

#include <optional>

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// nn.functional.layer_norm over the last dimension. Runs in fp32 under autocast.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias);

/// nn.functional.softmax and log_softmax over one dimension, in fp32 or x's own type where that is
/// asked for, and otherwise in x's, under autocast in fp32.
Tensor softmax(const Tensor& x, std::optional<ScalarType> type);
Tensor log_softmax(const Tensor& x, std::optional<ScalarType> type);

}  // namespace vramfit::pytorch
