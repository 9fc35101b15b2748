#include <algorithm>
#include <cmath>

#include "kernels/cpu/codes.h"
#include "kernels/cpu/cpu_device.h"

namespace vramfit {
namespace {

/// Codes on both sides of zero.
template <typename Element>
void quantize_block(const Element* from, std::int64_t block, const Tensor& to) {
  const FormatRow& format = to.format().row();
  const float largest = largest_magnitude(from, format.block);
  const float scale = BlockScales(to).put_scale(block, largest / format.largest);
  for (std::int64_t i = 0; i < format.block; ++i) {
    const float x = static_cast<float>(from[i]) / std::max(scale, kSmallestScale);
    put_code(to, block * format.block + i, x);
  }
}

/// Codes from zero on, and a zero point.
template <typename Element>
void quantize_offset_block(const Element* from, std::int64_t block, const Tensor& to) {
  const FormatRow& format = to.format().row();
  const BlockScales scales(to);
  const auto [low, high] = std::minmax_element(from, from + format.block, [](Element a, Element b) {
    return static_cast<float>(a) < static_cast<float>(b);
  });
  // Zero has a code, so that the range includes it.
  const float smallest = std::min(static_cast<float>(*low), 0.0F);
  const float range = std::max(static_cast<float>(*high), 0.0F) - smallest;
  const float scale =
      scales.put_scale(block, std::max(range / format.largest, kSmallestOffsetScale));
  const float zero = std::min(std::nearbyint(-smallest / scale), format.largest);
  scales.put_zero(block, zero);
  for (std::int64_t i = 0; i < format.block; ++i) {
    const float code = std::nearbyint(static_cast<float>(from[i]) / scale) + zero;
    put_code(to, block * format.block + i, std::clamp(code, 0.0F, format.largest));
  }
}

template <typename Element>
void quantize(const Quantize& op) {
  const std::int64_t rows = op.from.stored()[0];
  const std::int64_t columns = op.to.stored()[1];
  const Format format = op.to.format();
  require(op.first_row + rows <= op.to.stored()[0], "quantize: the rows are more than there are");
  require((op.scales != nullptr) == has_row_scales(format), "quantize: rows have scales beside");
  const auto from = input<Element>(op.from, rows, columns);
  float* scales = output<float>(op.scales, op.to.stored()[0]);
  for (std::int64_t n = 0; n < rows; ++n) {
    const std::int64_t row = op.first_row + n;
    if (scales != nullptr) {
      scales[row] = quantize_row(from[n], columns, op.to, row * columns);
      continue;
    }
    const std::int64_t block = format.row().block;
    require(columns % block == 0, "quantize: rows are whole blocks");
    for (std::int64_t at = 0; at < columns; at += block) {
      const std::int64_t number = (row * columns + at) / block;
      if (format.row().codec == Codec::Offset) {
        quantize_offset_block(from[n] + at, number, op.to);
      } else {
        quantize_block(from[n] + at, number, op.to);
      }
    }
  }
}

}  // namespace

void CpuDevice::run(const Quantize& op) {
  with_element(op.from.format(), [&op](auto e) { quantize<decltype(e)>(op); });
}

}  // namespace vramfit
