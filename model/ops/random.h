#pragma once

#include <cstdint>

// Random numbers by counter: element i of a stream depends on (seed, i) alone, in integer
// arithmetic and one rounded multiplication, so that every device draws the same to the bit.

namespace vramfit {

/// SplitMix64 (Steele et al. 2014) of one counter.
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t z = (seed + 1) * 0xD1B54A32D192ED03ULL + (i + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

/// Near enough to a standard normal: the sum of eight uniform 16-bit numbers, centred and scaled
/// to variance 1. Never beyond ±4.9.
constexpr float random_normal(std::uint64_t seed, std::uint64_t i) {
  std::int32_t sum = 0;
  for (std::uint64_t half = 0; half < 2; ++half) {
    const std::uint64_t bits = random_bits(seed, 2 * i + half);
    for (int shift = 0; shift < 64; shift += 16) {
      sum += static_cast<std::int32_t>((bits >> shift) & 0xFFFF);
    }
  }
  constexpr std::int32_t kCentre = 262140;            // 8 · 65535 / 2
  constexpr float kInverseDeviation = 1.8688124e-5F;  // 1 / sqrt(8 · (65536² − 1) / 12)
  return static_cast<float>(sum - kCentre) * kInverseDeviation;
}

constexpr std::int32_t random_token(std::uint64_t seed, std::uint64_t i, std::int64_t vocab) {
  return static_cast<std::int32_t>(random_bits(seed, i) % static_cast<std::uint64_t>(vocab));
}

}  // namespace vramfit
