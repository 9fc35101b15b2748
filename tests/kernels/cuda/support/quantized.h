#pragma once

#include "tests/kernels/cuda/support/lab.h"

namespace vramfit {

/// A weight in fewer bits, with the scales that stand beside it.
struct Quantized {
  Twin value;
  Twin scales;
  bool has_scales;

  Twin* scales_or_null() { return has_scales ? &scales : nullptr; }
};

/// `from`, stored from row `first_row` on; a format that needs no quantising is not allowed.
inline Quantized quantized(Lab& lab, Format format, Twin& from, std::int64_t first_row = 0,
                           std::int64_t rows_before = 0) {
  const std::int64_t rows = from.cpu.shape()[0] + rows_before;
  Quantized to{lab.stored(format, {rows, from.cpu.shape()[1]}), lab.floats({rows}),
               has_row_scales(format)};
  lab.run([&](Device& device, Side side) {
    device.run(Quantize{side(from), side(to.value), side(to.scales_or_null()), first_row});
  });
  return to;
}

}  // namespace vramfit
