#pragma once

#include "model/memory/tensor.h"

namespace vramfit {

/// FindLargest, for ops that find what they wrote.
void find_largest(const Tensor& from, const Tensor& scale);

/// to = code · scale, rounded: for ops that read codes.
void decode(const Tensor& codes, const Tensor& scale, const Tensor& to);

}  // namespace vramfit
