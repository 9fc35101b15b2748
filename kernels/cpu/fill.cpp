#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/matrix.h"
#include "model/ops/random.h"

namespace vramfit {
namespace {

template <typename Element>
void fill_normal(const FillNormal& op) {
  const std::int64_t count = op.tensor.shape().elements();
  const std::int64_t stored = op.tensor.stored().elements();
  Element* values = output<Element>(op.tensor, stored);
  for (std::int64_t i = 0; i < count; ++i) {
    const float normal = random_normal(op.seed, static_cast<std::uint64_t>(op.first + i));
    values[i] = static_cast<Element>(op.mean + op.deviation * normal);
  }
  for (std::int64_t i = count; i < stored; ++i) values[i] = static_cast<Element>(0.0F);
}

}  // namespace

void CpuDevice::run(const FillNormal& op) {
  with_element(op.tensor.format(), [&op](auto e) { fill_normal<decltype(e)>(op); });
}

void CpuDevice::run(const FillTokens& op) {
  const std::int64_t count = op.tokens.shape().elements();
  auto* tokens = output<std::int32_t>(op.tokens, count);
  for (std::int64_t i = 0; i < count; ++i) {
    tokens[i] = random_token(op.seed, static_cast<std::uint64_t>(i), op.vocab);
  }
}

}  // namespace vramfit
