#pragma once

#include <cstdint>
#include <vector>

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// constant_pad_nd: before and behind the last dimension, then those of the one before it.
Tensor constant_pad(const Tensor& a, const std::vector<std::int64_t>& pad);
/// tril and triu.
Tensor triangle(const Tensor& a);

}  // namespace vramfit::pytorch
