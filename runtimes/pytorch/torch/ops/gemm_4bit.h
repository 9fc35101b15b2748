#pragma once

#include <cstdint>

#include "model/ops/arch.h"
#include "runtimes/pytorch/torch/tensor/scalar_type.h"

namespace vramfit::pytorch {

/// x W^T of `rows` by `in` and `out` by `in`, W in 4 bits.
struct Gemm4Bit {
  Arch arch;
  int multiprocessors;
  ScalarType type;
  std::int64_t rows;
  std::int64_t out;
  std::int64_t in;
};

/// Whether bitsandbytes multiplies with a kernel that reads 4 bits, or else writes the weight out
/// in `type` first: bitsandbytes/backends/cuda/ops.py (bitsandbytes::gemm_4bit,
/// _gemm_4bit_use_custom_cuda), 0.50.2. Its thresholds were calibrated card by card.
bool is_fused(const Gemm4Bit& gemm);

}  // namespace vramfit::pytorch
