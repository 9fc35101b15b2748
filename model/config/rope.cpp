#include "model/config/rope.h"

#include <cmath>

namespace vramfit {
namespace {

constexpr double kTwoPi = 6.283185307179586;

/// Long wavelengths are stretched by `factor`, short ones kept, those between blended.
double llama3_scaled(const Rope& rope, double frequency) {
  const double wavelength = kTwoPi / frequency;
  if (wavelength < rope.original_positions / rope.high_freq_factor) return frequency;
  if (wavelength > rope.original_positions / rope.low_freq_factor) return frequency / rope.factor;
  const double smooth = (rope.original_positions / wavelength - rope.low_freq_factor) /
                        (rope.high_freq_factor - rope.low_freq_factor);
  return (1.0 - smooth) * frequency / rope.factor + smooth * frequency;
}

}  // namespace

RopeFrequencies rope_frequencies(const Rope& rope, std::int64_t head_dim) {
  RopeFrequencies result;
  result.pairs = head_dim / 2;
  for (std::int64_t i = 0; i < result.pairs; ++i) {
    double frequency =
        std::pow(rope.theta, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
    if (rope.scaling == Rope::Scaling::Linear) frequency /= rope.factor;
    if (rope.scaling == Rope::Scaling::Llama3) frequency = llama3_scaled(rope, frequency);
    result.inverse[static_cast<std::size_t>(i)] = static_cast<float>(frequency);
  }
  return result;
}

}  // namespace vramfit
