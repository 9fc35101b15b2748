#pragma once

#include <cstdint>

#include "model/memory/tensor.h"

namespace vramfit {

/// Stores rows in a format of fewer bits, from row `first_row` of `to` on. All in fp32; what ties
/// are rounded to is the even one. What shares a scale (a row, a block) is divided by it:
///   s = the largest magnitude / the format's largest, and the code is that nearest to x / s
///   with a zero point (Lin et al. 2024, AWQ; Frantar et al. 2023, GPTQ): s = (largest − smallest)
///     / the format's largest, of the block and 0, z = −round(smallest / s), q = round(x / s) + z
/// Where codes, scales and zero points stand: model/ops/quantized_layout.h.
struct Quantize {
  const Tensor& from;  ///< (n, in), as `to`'s rows from first_row on
  Tensor& to;          ///< (rows, in)
  Tensor* scales;      ///< (rows), fp32; 8 bits only
  std::int64_t first_row;
};

}  // namespace vramfit
