#pragma once

#include <cstdint>

#include "runtimes/pytorch/torch/tensor/tensor.h"

// LLM.int8(), as bitsandbytes 0.50.2 runs it: autograd/_functions.py (MatMul8bitLt),
// backends/cuda/ops.py and backends/default/ops.py.
namespace vramfit::pytorch {

/// A matrix in 8 bits, with a scale a row.
struct Int8Rows {
  Tensor values;
  Tensor scales;
};

/// bitsandbytes::int8_vectorwise_quant of fp16 without a threshold: a weight.
Int8Rows int8_vectorwise_quant(const Tensor& rows);

/// MatMul8bitLt: x W^T of (..., in), where so many columns of x have an outlier and stay as they
/// are; which those were is kept (undefined: none). A bias is added in place. Wants no gradient of
/// the weight.
Tensor matmul_8bit(const Tensor& x, const Int8Rows& weight, std::int64_t outliers,
                   Tensor& outlier_columns);

}  // namespace vramfit::pytorch
