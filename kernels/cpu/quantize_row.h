#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/cpu/matrix.h"
#include "model/ops/quantized_layout.h"

namespace vramfit {

template <typename Element>
float largest_magnitude(const Element* from, std::int64_t count) {
  float largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::abs(static_cast<float>(from[i])));
  }
  return largest;
}

/// A row in 8 bits, from element `first` of `to` on. Returns its scale.
template <typename Element>
float quantize_row(const Element* from, std::int64_t count, const Tensor& to, std::int64_t first) {
  const bool fp8 = to.format() == Format(DType::Fp8);
  const float most = fp8 ? kLargestFp8 : kLargestInt8;
  const float scale = std::max(largest_magnitude(from, count) / most, kSmallestScale);
  for (std::int64_t i = 0; i < count; ++i) {
    const float scaled = static_cast<float>(from[i]) / scale;
    if (fp8) {
      to.as<E4m3>()[first + i] = E4m3(scaled);
    } else {
      to.as<std::int8_t>()[first + i] = static_cast<std::int8_t>(std::nearbyint(scaled));
    }
  }
  return scale;
}

}  // namespace vramfit
