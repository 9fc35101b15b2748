#pragma once

#include <bit>
#include <cstdint>

namespace vramfit {

/// The 8-bit floats of Micikevicius et al. 2022: a sign, exponent bits with a bias, mantissa bits;
/// `kLargest` is the largest number's bits, behind which stand infinity, where there is one, and
/// NaNs. Rounds to nearest, ties to even, beyond the largest to it; a NaN stays one.
template <int kMantissa, int kBias, std::uint8_t kLargest>
struct EightBitFloat {
  std::uint8_t bits;

  EightBitFloat() = default;
  constexpr explicit EightBitFloat(float value) : bits(bits_of(value)) {}
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
    if (magnitude > kLargest) {
      // E5M2's code behind its largest is infinity.
      const bool infinite = kMantissa == 2 && magnitude == kLargest + 1U;
      return std::bit_cast<float>(sign | (infinite ? 0x7F80'0000U : 0x7FC0'0000U));
    }
    // Multiplying by a power of two makes up for the other bias, exactly.
    const float value =
        std::bit_cast<float>(magnitude << (23 - kMantissa)) * power_of_two(127 - kBias);
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }

 private:
  static constexpr float power_of_two(int exponent) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(127 + exponent) << 23);
  }
};

/// Without infinity: behind 448 stands NaN alone.
using E4m3 = EightBitFloat<3, 7, 0x7E>;
/// The upper half of an fp16.
using E5m2 = EightBitFloat<2, 15, 0x7B>;

}  // namespace vramfit
