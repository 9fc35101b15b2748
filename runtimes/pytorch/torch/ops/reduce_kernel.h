#pragma once

#include <cstdint>

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// Bits of dimensions.
using DimMask = std::uint32_t;
constexpr DimMask bit(int dim) { return DimMask{1} << dim; }
constexpr DimMask all_dims(int rank) { return (DimMask{1} << rank) - 1; }

/// What stays of these sizes; keepdim leaves 1 of what goes.
Dims reduced_sizes(const Dims& sizes, DimMask mask, bool keepdim);

/// What one of PyTorch's reductions is, as far as its memory goes.
struct Reduction {
  std::int64_t accumulator = 4;  ///< bytes of what threads hand each other
  bool in_output = true;         ///< and whether an output's element can hold that
};

/// What gpu_reduce_kernel allocates beside its output, contiguous and there already: partial
/// results and semaphores where several blocks share an output.
/// aten/src/ATen/native/cuda/Reduce.cuh, PyTorch 2.11.
void use_reduce_kernel(const Tensor& input, DimMask mask, const Reduction& reduction);

}  // namespace vramfit::pytorch
