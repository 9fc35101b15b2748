#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// What autocast does to the inputs of ops that run in 16 bits, matmul and its kin: cached_cast to
/// the scope's type.
Tensor lower(const Tensor& tensor);

/// And of ops that run in fp32: norms, softmax, pow, losses.
Tensor upper(const Tensor& tensor);

}  // namespace vramfit::pytorch
