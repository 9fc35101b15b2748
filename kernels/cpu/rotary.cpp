#include <cmath>

#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/matrix.h"

namespace vramfit {
namespace {

/// Turns each pair (i, i + d/2) of a head by position · frequency.
template <typename Element>
void rotate(const RotaryEmbedding& op) {
  using Sum = Accumulator<Element>;
  const std::int64_t rows = op.qkv.shape()[0];
  const std::int64_t width = op.qkv.shape()[1];
  const std::int64_t pairs = op.frequencies.pairs;
  require(2 * pairs == op.head_dim, "RoPE turns whole heads");
  require(op.rotated_heads * op.head_dim <= width, "RoPE is told of more heads than there are");
  const auto qkv = output<Element>(op.qkv, rows, width);
  const auto* starts = input<std::int32_t>(op.starts, rows / op.seq);
  for (std::int64_t n = 0; n < rows; ++n) {
    const std::int64_t start = starts == nullptr ? 0 : starts[n / op.seq];
    const auto position = static_cast<Sum>(start + n % op.seq);
    for (std::int64_t head = 0; head < op.rotated_heads; ++head) {
      Element* low = qkv[n] + head * op.head_dim;
      Element* high = low + pairs;
      for (std::int64_t i = 0; i < pairs; ++i) {
        const Sum angle =
            position * static_cast<Sum>(op.frequencies.inverse[static_cast<std::size_t>(i)]);
        const Sum cosine = std::cos(angle);
        const Sum sine = op.backward ? -std::sin(angle) : std::sin(angle);
        const Sum a = low[i];
        const Sum b = high[i];
        low[i] = static_cast<Element>(a * cosine - b * sine);
        high[i] = static_cast<Element>(b * cosine + a * sine);
      }
    }
  }
}

}  // namespace

void CpuDevice::run(const RotaryEmbedding& op) {
  with_element(op.qkv.format(), [&op](auto e) { rotate<decltype(e)>(op); });
}

}  // namespace vramfit
