#include "kernels/host/adamw_update.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "kernels/host/half.h"

// Elements are widened to fp32, updated and rounded a block at a time: three loops without a
// branch, which compilers turn into vectors. What this folder's CMakeLists.txt tells them to that
// end moves no bit.

namespace vramfit {
namespace {

/// Of a block that stays in the first cache.
constexpr std::int64_t kBlock = 1024;
using Block = std::array<float, static_cast<std::size_t>(kBlock)>;

template <typename Element>
void widen(const Element* from, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

template <typename Element>
void round(const float* from, std::int64_t count, Element* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<Element>(from[i]);
}

template <bool kDecays>
void update(const HostStep& step, const float* gradients, std::int64_t count, float* weights,
            float* momentum, float* variance) {
  // By value: what is written below is never what these are read from.
  const OptimizerSettings s = step.settings;
  const auto [inverse_scale, correction1, correction2] =
      std::array{step.inverse_scale, step.correction1, step.correction2};
  const float decay = s.learning_rate * s.weight_decay;
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = gradients[i] * inverse_scale;
    const float m = s.beta1 * momentum[i] + (1 - s.beta1) * g;
    const float v = s.beta2 * variance[i] + (1 - s.beta2) * g * g;
    const float decayed = kDecays ? weights[i] - decay * weights[i] : weights[i];
    const float deviation = std::sqrt(v / correction2) + s.eps;
    weights[i] = decayed - s.learning_rate * (m / correction1) / deviation;
    momentum[i] = m;
    variance[i] = v;
  }
}

template <typename Element>
void update_all(const HostStep& step, const HostElements& e) {
  auto* const weights = static_cast<Element*>(e.weights);
  const auto* const gradients = static_cast<const Element*>(e.gradients);
  Block w;
  Block g;
  const auto update_block = e.decays ? update<true> : update<false>;
  for (std::int64_t first = 0; first < e.count; first += kBlock) {
    const std::int64_t count = std::min(kBlock, e.count - first);
    widen(weights + first, count, w.data());
    widen(gradients + first, count, g.data());
    update_block(step, g.data(), count, w.data(), e.momentum + first, e.variance + first);
    round(w.data(), count, weights + first);
  }
}

}  // namespace

HostStep::HostStep(const OptimizerSettings& settings_, int step)
    : settings(settings_),
      inverse_scale(1),
      correction1(static_cast<float>(1 - std::pow(double{settings.beta1}, step))),
      correction2(static_cast<float>(1 - std::pow(double{settings.beta2}, step))),
      first(step == 1),
      skips(false) {}

HostElements HostElements::part(Format format, std::int64_t first, std::int64_t count_) const {
  const auto bytes = static_cast<std::ptrdiff_t>(format.bytes(first));
  return {static_cast<std::byte*>(weights) + bytes,
          static_cast<const std::byte*>(gradients) + bytes,
          momentum + first,
          variance + first,
          count_,
          decays};
}

void adamw_on_host(const HostStep& step, Format format, const HostElements& elements) {
  if (step.first) {
    std::fill_n(elements.momentum, elements.count, 0.0F);
    std::fill_n(elements.variance, elements.count, 0.0F);
  }
  if (step.skips) return;
  if (format == DType::Fp32) return update_all<float>(step, elements);
  if (format == DType::Fp16) return update_all<Half>(step, elements);
  if (format == DType::Bf16) return update_all<Bfloat>(step, elements);
  throw std::logic_error(std::string("the host updates fp32, fp16 and bf16, not ") + format.name());
}

}  // namespace vramfit
