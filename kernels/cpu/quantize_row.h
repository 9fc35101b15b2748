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

inline void round_to(E4m3& to, float x) { to = E4m3(x); }
inline void round_to(std::int8_t& to, float x) { to = static_cast<std::int8_t>(std::nearbyint(x)); }

/// A row in 8 bits. Returns its scale.
template <typename Element, typename Code>
float quantize_row(const Element* from, std::int64_t count, Code* to) {
  constexpr float kLargest = format_of<Code>().row().largest;
  const float scale = std::max(largest_magnitude(from, count) / kLargest, kSmallestScale);
  for (std::int64_t i = 0; i < count; ++i) round_to(to[i], static_cast<float>(from[i]) / scale);
  return scale;
}

/// The same from element `first` of a tensor on.
template <typename Element>
float quantize_row(const Element* from, std::int64_t count, const Tensor& to, std::int64_t first) {
  float scale = 0;
  with_code(to.format().element(),
            [&](auto code) { scale = quantize_row(from, count, to.as<decltype(code)>() + first); });
  return scale;
}

}  // namespace vramfit
