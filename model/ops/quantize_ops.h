#pragma once

#include <cstdint>

#include "model/memory/tensor.h"

namespace vramfit {

/// Stores rows in a format of fewer bits, from row `first_row` of `to` on. All in fp32; what ties
/// are rounded to is the even one.
///   int8, fp8: q = round(x / s), s = the row's largest magnitude / 127 or 448: `scales`
///   nf4: the nearest of 16 codes to x / s, s the largest magnitude of a block (Dettmers et al.
///     2023, appendix E)
///   int4: q = round(x / s) + z of 0 to 15, s = (largest − smallest) / 15 of a block and 0, in
///     fp16, z = −round(smallest / s) (Lin et al. 2024, AWQ; Frantar et al. 2023, GPTQ)
/// Where a format's codes, scales and zero points stand: model/ops/quantized_layout.h.
struct Quantize {
  const Tensor& from;  ///< (n, in), as `to`'s rows from first_row on
  Tensor& to;          ///< (rows, in)
  Tensor* scales;      ///< (rows), fp32; 8 bits only
  std::int64_t first_row;
};

}  // namespace vramfit
