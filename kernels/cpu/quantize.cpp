#include <algorithm>
#include <cmath>

#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/quantize_row.h"
#include "model/ops/quantized_layout.h"

namespace vramfit {
namespace {

/// The two codes of a byte are written one after the other; without a second it holds zeros.
void put_nibble(std::uint8_t* bytes, std::int64_t element, int code) {
  std::uint8_t& byte = bytes[element / 2];
  byte = static_cast<std::uint8_t>(element % 2 == 0 ? code << 4 : (byte & 0xF0) | code);
}

template <typename Element>
void nf4_block(const Element* from, std::int64_t block, const Tensor& to) {
  const std::int64_t size = kNf4.row().block;
  const FourBitLayout layout(kNf4, to.stored().elements());
  auto* bytes = to.as<std::uint8_t>();
  const float scale = largest_magnitude(from, size);
  reinterpret_cast<float*>(bytes + layout.scales)[block] = scale;
  for (std::int64_t i = 0; i < size; ++i) {
    const float x = static_cast<float>(from[i]) / std::max(scale, kSmallestScale);
    put_nibble(bytes, block * size + i, nf4_code(x));
  }
}

template <typename Element>
void int4_block(const Element* from, std::int64_t block, const Tensor& to) {
  const std::int64_t size = kInt4.row().block;
  const FourBitLayout layout(kInt4, to.stored().elements());
  auto* bytes = to.as<std::uint8_t>();
  const auto [low, high] = std::minmax_element(from, from + size, [](Element a, Element b) {
    return static_cast<float>(a) < static_cast<float>(b);
  });
  // Zero has a code, so that the range includes it.
  const float smallest = std::min(static_cast<float>(*low), 0.0F);
  const float range = std::max(static_cast<float>(*high), 0.0F) - smallest;
  const Half stored(std::max(range / kLargestInt4, kSmallestInt4Scale));
  const float scale = stored;
  const float zero = std::min(std::nearbyint(-smallest / scale), kLargestInt4);
  reinterpret_cast<Half*>(bytes + layout.scales)[block] = stored;
  put_nibble(bytes + layout.zeros, block, static_cast<int>(zero));
  for (std::int64_t i = 0; i < size; ++i) {
    const float code = std::nearbyint(static_cast<float>(from[i]) / scale) + zero;
    put_nibble(bytes, block * size + i, static_cast<int>(std::clamp(code, 0.0F, kLargestInt4)));
  }
}

template <typename Element>
void quantize(const Quantize& op) {
  const std::int64_t rows = op.from.stored()[0];
  const std::int64_t columns = op.to.stored()[1];
  const Format format = op.to.format();
  require(op.first_row + rows <= op.to.stored()[0], "quantize: the rows are more than there are");
  require((op.scales != nullptr) == has_row_scales(format), "quantize: 8 bits have scales beside");
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
      if (format == kNf4) {
        nf4_block(from[n] + at, number, op.to);
      } else {
        int4_block(from[n] + at, number, op.to);
      }
    }
  }
}

}  // namespace

void CpuDevice::run(const Quantize& op) {
  with_element(op.from.format(), [&op](auto e) { quantize<decltype(e)>(op); });
}

}  // namespace vramfit
