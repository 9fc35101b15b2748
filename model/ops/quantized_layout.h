#pragma once

#include <cstdint>

#include "model/format.h"

// How quantised weights stand in memory and are read back, the same on every device. A tensor of 4
// bits holds its codes, two to a byte, the earlier one above; then the blocks' scales; then, where
// they have them, the blocks' zero points, two to a byte as codes are.

namespace vramfit {

/// Of the largest magnitude that a code stands for: what a row's largest is divided by.
inline constexpr float kLargestInt8 = 127.0F;
inline constexpr float kLargestFp8 = 448.0F;
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

/// Largest code of int4, and the smallest scale, fp16's smallest normal.
inline constexpr float kLargestInt4 = 15.0F;
inline constexpr float kSmallestInt4Scale = 6.1035156e-5F;

/// Where a tensor of 4 bits and so many elements holds what: offsets in bytes.
struct FourBitLayout {
  std::int64_t scales;
  std::int64_t zeros;

  constexpr FourBitLayout(Format format, std::int64_t elements)
      : scales(elements / 2), zeros(scales + elements / format.row().block * scale_bytes(format)) {}

  static constexpr std::int64_t scale_bytes(Format format) { return format == kNf4 ? 4 : 2; }
};

}  // namespace vramfit
