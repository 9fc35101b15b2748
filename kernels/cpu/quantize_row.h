#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

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

inline void round_to(E4m3& to, float x) { to = E4m3(x); }
inline void round_to(std::int8_t& to, float x) { to = static_cast<std::int8_t>(std::nearbyint(x)); }

/// A row in 8 bits. Returns its scale.
template <typename Element, typename Code>
float quantize_row(const Element* from, std::int64_t count, Code* to) {
  const float most = std::is_same_v<Code, E4m3> ? kLargestFp8 : kLargestInt8;
  const float scale = std::max(largest_magnitude(from, count) / most, kSmallestScale);
  for (std::int64_t i = 0; i < count; ++i) round_to(to[i], static_cast<float>(from[i]) / scale);
  return scale;
}

/// The same from element `first` of a tensor on.
template <typename Element>
float quantize_row(const Element* from, std::int64_t count, const Tensor& to, std::int64_t first) {
  if (to.format() == Format(DType::Fp8)) return quantize_row(from, count, to.as<E4m3>() + first);
  return quantize_row(from, count, to.as<std::int8_t>() + first);
}

}  // namespace vramfit
