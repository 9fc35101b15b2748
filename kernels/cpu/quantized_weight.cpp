#include "kernels/cpu/quantized_weight.h"

#include <stdexcept>

#include "kernels/cpu/matrix.h"
#include "model/ops/quantized_layout.h"

namespace vramfit {

QuantizedWeight::QuantizedWeight(const Tensor& weight, const Tensor* scales)
    : weight_(weight),
      scales_(input<float>(scales, weight.stored()[0])),
      columns_(weight.stored()[1]) {
  require(weight, weight.format(), weight.stored().elements());
  require((scales != nullptr) == has_row_scales(weight.format()),
          "weights of 8 bits have scales beside them, and those alone");
  require(has_row_scales(weight.format()) || columns_ % weight.format().row().block == 0,
          "rows are whole blocks");
}

QuantizedWeight::Value QuantizedWeight::value(std::int64_t row, std::int64_t column) const {
  const std::int64_t element = row * columns_ + column;
  if (weight_.format() == Format(DType::Int8))
    return {static_cast<float>(weight_.as<const std::int8_t>()[element]), 1.0F};
  if (weight_.format() == Format(DType::Fp8))
    return {static_cast<float>(weight_.as<const E4m3>()[element]), 1.0F};
  return four_bits(element);
}

QuantizedWeight::Value QuantizedWeight::four_bits(std::int64_t element) const {
  const Format format = weight_.format();
  const FourBitLayout layout(format, weight_.stored().elements());
  const auto* bytes = weight_.as<const std::uint8_t>();
  const int code = nibble(bytes[element / 2], element);
  const std::int64_t block = element / format.row().block;
  if (format == kNf4) {
    const auto* scales = reinterpret_cast<const float*>(bytes + layout.scales);
    return {nf4_value(code), scales[block]};
  }
  const auto* scales = reinterpret_cast<const Half*>(bytes + layout.scales);
  const int zero = nibble(bytes[layout.zeros + block / 2], block);
  return {static_cast<float>(code - zero), static_cast<float>(scales[block])};
}

}  // namespace vramfit
