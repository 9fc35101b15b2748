#pragma once

#include "kernels/cuda/optimizer/step.cuh"

namespace vramfit {

/// Adafactor, whose v is of matrices the means of their columns and rows. The table begins with the
/// parameters that are vectors.
template <typename T>
void launch_factored_step(const OptimizerStep& op, const OptimizerLauncher::Entry* table,
                          cudaStream_t stream);

}  // namespace vramfit
