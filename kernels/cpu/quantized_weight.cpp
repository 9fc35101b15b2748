#include "kernels/cpu/quantized_weight.h"

#include <stdexcept>

#include "kernels/cpu/codes.h"

namespace vramfit {

QuantizedWeight::QuantizedWeight(const Tensor& weight, const Tensor* scales)
    : weight_(weight),
      scales_(input<float>(scales, weight.stored()[0])),
      columns_(weight.stored()[1]) {
  require(weight, weight.format(), weight.stored().elements());
  require((scales != nullptr) == has_row_scales(weight.format()),
          "rows' scales are beside a weight that has such, and no other");
  require(has_row_scales(weight.format()) || columns_ % weight.format().row().block == 0,
          "rows are whole blocks");
}

QuantizedWeight::Value QuantizedWeight::value(std::int64_t row, std::int64_t column) const {
  const std::int64_t element = row * columns_ + column;
  const float code = code_of(weight_, element);
  if (weight_.format().row().plain()) return {code, 1.0F};
  const BlockScales scales(weight_);
  const std::int64_t block = element / weight_.format().row().block;
  return {code - scales.zero(block), scales.scale(block)};
}

}  // namespace vramfit
