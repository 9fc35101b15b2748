#pragma once

#include "kernels/cuda/optimizer/step.cuh"

namespace vramfit {

/// AdamW whose moments are codes of 8 bits, on all chunks of the table's parameters.
template <typename T>
void launch_coded_step(const OptimizerLauncher::Entry* table, int entries, int chunks,
                       const gpu::StepConstants& step, cudaStream_t stream);

}  // namespace vramfit
