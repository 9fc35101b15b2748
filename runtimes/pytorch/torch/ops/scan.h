#pragma once

#include <optional>

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// torch.cumsum of what nobody wants a gradient of.
Tensor cumsum(const Tensor& a, int dim, std::optional<ScalarType> type);

}  // namespace vramfit::pytorch
