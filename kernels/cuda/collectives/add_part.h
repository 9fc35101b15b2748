#pragma once

#include <cuda_runtime_api.h>

#include "model/memory/tensor.h"

namespace vramfit {

/// part += as many elements of the same format at `from`, rounded once. Both are whole packs.
void add_part(const Tensor& part, const void* from, cudaStream_t stream);

}  // namespace vramfit
