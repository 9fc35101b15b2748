#pragma once

#include <cstdint>

#include "model/format.h"

// How quantised weights stand in memory and are read back, the same on every device. A tensor whose
// blocks have scales holds its codes, of 4 bits two to a byte, the earlier one above; then the
// blocks' scales; then, where they have them, the blocks' zero points, stored as codes are.

namespace vramfit {

/// No scale is smaller: zeros are divided too.
inline constexpr float kSmallestScale = 1.17549435e-38F;

inline constexpr int kNf4Codes = 16;

/// The quantiles that nf4's codes stand for, ascending: bitsandbytes' create_normal_map.
constexpr float nf4_value(int code) {
  const float values[kNf4Codes] = {
      -1.0F,
      -0.6961928009986877F,
      -0.5250730514526367F,
      -0.39491748809814453F,
      -0.28444138169288635F,
      -0.18477343022823334F,
      -0.09105003625154495F,
      0.0F,
      0.07958029955625534F,
      0.16093020141124725F,
      0.24611230194568634F,
      0.33791524171829224F,
      0.44070982933044434F,
      0.5626170039176941F,
      0.7229568362236023F,
      1.0F,
  };
  return values[code];
}

/// The code nearest to x of −1 to 1; of two as near the lower one.
constexpr int nf4_code(float x) {
  int code = 0;
  for (int i = 0; i + 1 < kNf4Codes; ++i) {
    code += x > (nf4_value(i) + nf4_value(i + 1)) / 2 ? 1 : 0;
  }
  return code;
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
