#pragma once

#include <cstdint>

#include "runtimes/pytorch/tensor/tensor.h"

// LLM.int8(), as bitsandbytes 0.50.2 runs it: autograd/_functions.py (MatMul8bitLt),
// backends/cuda/ops.py and backends/default/ops.py. Inference: no gradient is wanted.
namespace vramfit::pytorch {

/// A matrix in 8 bits, with a scale a row.
struct Int8Rows {
  Tensor values;
  Tensor scales;
};

/// bitsandbytes::int8_vectorwise_quant of fp16 without a threshold: a weight.
Int8Rows int8_vectorwise_quant(const Tensor& rows);

/// A linear's input beside what it is quantised to: columns with an outlier stay as they are.
struct Int8Input {
  Int8Rows rows;
  Tensor outlier_columns;  ///< their indices; undefined: there are none
};

/// The same with LLM.int8()'s threshold, where so many columns have an outlier.
Int8Input int8_quantize_input(const Tensor& x, std::int64_t outliers);

/// bitsandbytes::int8_mixed_scaled_mm: x W^T, both of rows, outlier columns in x's type. A bias is
/// added in place.
Tensor int8_mixed_scaled_mm(const Tensor& x, const Int8Input& input, const Int8Rows& weight);

}  // namespace vramfit::pytorch
