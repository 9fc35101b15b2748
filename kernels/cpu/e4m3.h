#pragma once

#include <bit>
#include <cstdint>

namespace vramfit {

/// The 8-bit float e4m3 of Micikevicius et al. 2022: a sign, 4 exponent bits and 3 of mantissa;
/// without infinity, behind 448 stands NaN alone. Rounds to nearest, ties to even, beyond the
/// largest to it; a NaN stays one.
struct E4m3 {
  std::uint8_t bits;

  E4m3() = default;
  constexpr explicit E4m3(float value) : bits(bits_of(value)) {}
  constexpr operator float() const { return value_of(bits); }

  static constexpr std::uint8_t bits_of(float value) {
    const auto whole = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (whole >> 24) & 0x80U;
    const std::uint32_t magnitude = whole & 0x7FFF'FFFFU;
    if (magnitude > 0x7F80'0000U) return static_cast<std::uint8_t>(sign | 0x7FU);
    if (std::bit_cast<float>(magnitude) >= value_of(kLargest)) {
      return static_cast<std::uint8_t>(sign | kLargest);
    }
    if (std::bit_cast<float>(magnitude) < power_of_two(1 - kBias)) {
      // Below the smallest normal they are multiples of one step, and so are the floats that begin
      // 23 bits above it: the addition rounds as wanted.
      const float base = power_of_two(1 - kBias - kMantissa + 23);
      const float shifted = std::bit_cast<float>(magnitude) + base;
      return static_cast<std::uint8_t>(
          sign | (std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(base)));
    }
    constexpr int kDropped = 23 - kMantissa;
    const std::uint32_t rebiased = magnitude - (std::uint32_t{127 - kBias} << 23);
    const std::uint32_t odd = (rebiased >> kDropped) & 1U;
    constexpr std::uint32_t kBelowHalf = (1U << (kDropped - 1)) - 1;
    return static_cast<std::uint8_t>(sign | ((rebiased + kBelowHalf + odd) >> kDropped));
  }

  static constexpr float value_of(std::uint8_t bits) {
    const std::uint32_t sign = (bits & 0x80U) << 24;
    const std::uint32_t magnitude = bits & 0x7FU;
    if (magnitude > kLargest) return std::bit_cast<float>(sign | 0x7FC0'0000U);
    // Multiplying by a power of two makes up for the other bias, exactly.
    const float value =
        std::bit_cast<float>(magnitude << (23 - kMantissa)) * power_of_two(127 - kBias);
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }

 private:
  static constexpr int kMantissa = 3;
  static constexpr int kBias = 7;
  static constexpr std::uint8_t kLargest = 0x7E;

  static constexpr float power_of_two(int exponent) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(127 + exponent) << 23);
  }
};

}  // namespace vramfit
