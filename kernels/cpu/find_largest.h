#pragma once

#include "model/memory/tensor.h"

namespace vramfit {

/// FindLargest, for ops that find what they wrote.
void find_largest(const Tensor& from, const Tensor& scale);

}  // namespace vramfit
