#pragma once

#include <optional>

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// torch.cumsum, in another type where one is named.
Tensor cumsum(const Tensor& a, int dim, std::optional<ScalarType> type);

}  // namespace vramfit::pytorch
