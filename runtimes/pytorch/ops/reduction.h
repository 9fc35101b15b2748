#pragma once

#include "runtimes/pytorch/tensor/tensor.h"

namespace vramfit::pytorch {

/// a.mean(-1, keepdim=True)
Tensor mean_last(const Tensor& a);
/// at::sum_to: the sum over what was broadcast.
Tensor sum_to(Tensor a, const Dims& sizes);

}  // namespace vramfit::pytorch
