#pragma once

#include <cmath>

#include "kernels/cpu/matrix.h"
#include "model/config/model_config.h"

namespace vramfit {

/// (x − mean) · rstd; RMSNorm's mean is 0.
template <typename Sum>
struct RowStatistics {
  Sum mean;
  Sum rstd;
  Sum normalized(Sum x) const { return (x - mean) * rstd; }
};

template <typename Element, typename Sum = Accumulator<Element>>
RowStatistics<Sum> statistics_of(NormKind kind, const Element* x, std::int64_t width, float eps) {
  const auto count = static_cast<Sum>(width);
  Sum mean = 0;
  if (kind == NormKind::LayerNorm) {
    for (std::int64_t c = 0; c < width; ++c) mean += x[c];
    mean /= count;
  }
  Sum squares = 0;
  for (std::int64_t c = 0; c < width; ++c) squares += (x[c] - mean) * (x[c] - mean);
  return {mean, 1 / std::sqrt(squares / count + static_cast<Sum>(eps))};
}

/// Weight and bias applied to one normalized element.
template <typename Element, typename Sum = Accumulator<Element>>
Element scaled(Sum normalized, const Element* weight, const Element* bias, std::int64_t c) {
  const Sum y = normalized * static_cast<Sum>(weight[c]);
  return static_cast<Element>(bias == nullptr ? y : y + static_cast<Sum>(bias[c]));
}

}  // namespace vramfit
