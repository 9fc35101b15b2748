#pragma once

#include <cstdint>
#include <optional>

#include "runtimes/pytorch/torch/memory/tape.h"
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

/// How many columns of a linear's input have an outlier.
struct OutlierColumns {
  std::int64_t count = 0;
  /// Of a layer that is played for others, which have columns of their own: its count is 1 then.
  std::optional<Times> each = {};  ///< as many
  std::optional<Times> any = {};   ///< 1 where there are some
};

/// MatMul8bitLt: x W^T of (..., in), where columns of x that have an outlier stay as they are;
/// which those were is kept (undefined: none). A bias is added in place. Wants no gradient of the
/// weight.
Tensor matmul_8bit(const Tensor& x, const Int8Rows& weight, const OutlierColumns& outliers,
                   Tensor& outlier_columns);

}  // namespace vramfit::pytorch
