#pragma once

#include <cstdint>
#include <iterator>

#include "model/format.h"

// How quantised weights stand in memory and are read back, the same on every device. A tensor whose
// blocks have scales holds its codes, of 4 bits two to a byte, the earlier one above; then the
// blocks' scales; then, where they have them, the blocks' zero points, stored as codes are.

namespace vramfit {

/// No scale is smaller: zeros are divided too.
inline constexpr float kSmallestScale = 1.17549435e-38F;

/// The code of the value that is nearest to x; of two as near the lower one.
constexpr int nearest_code(const Codebook& codebook, float x) {
  int code = 0;
  for (int i = 0; i + 1 < static_cast<int>(std::size(codebook.values)); ++i) {
    code += x > (codebook.values[i] + codebook.values[i + 1]) / 2 ? 1 : 0;
  }
  return code;
}

/// What elements are multiplied by where codes share the scale 1 / factor: the largest magnitude
/// becomes the format's largest. Of zeros any factor does.
constexpr float code_factor(float largest_code, float largest) {
  constexpr float kSmallest = 1e-30F;
  return largest_code / (largest > kSmallest ? largest : kSmallest);
}

/// The smallest scale of what has a zero point: fp16's smallest normal.
inline constexpr float kSmallestOffsetScale = 6.1035156e-5F;

/// Where a tensor of so many elements holds what: offsets in bytes.
struct BlockLayout {
  std::int64_t scales;
  std::int64_t zeros;

  constexpr BlockLayout(Format format, std::int64_t elements)
      : scales(elements * format.row().bits / 8),
        zeros(scales + elements / format.row().block * Format(format.row().scale).row().bits / 8) {}
};

}  // namespace vramfit
