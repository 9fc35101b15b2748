#pragma once

#include "kernels/cuda/gemm/gemm.h"
#include "model/ops/lora_ops.h"

namespace vramfit {

// The second halves of adapters: a thin GEMM for each.
void add_adapters(const LoraForward& op, GemmRunner& gemms);
void multiply_adapters(const LoraBackwardInput& op, GemmRunner& gemms);
void multiply_adapters(const LoraBackwardWeight& op, GemmRunner& gemms);

}  // namespace vramfit
