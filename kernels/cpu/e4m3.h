#pragma once

#include <bit>
#include <cstdint>

namespace vramfit {

/// The 8-bit floats of Micikevicius et al. 2022: 1 sign bit, 4 exponent bits with bias 7, 3
/// mantissa bits, no infinity. Rounds to nearest, ties to even, beyond ±448 to it; a NaN stays one.
constexpr std::uint8_t e4m3_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 24) & 0x80U;
  const std::uint32_t magnitude = bits & 0x7FFF'FFFFU;
  if (magnitude > 0x7F80'0000U) return static_cast<std::uint8_t>(sign | 0x7FU);
  if (magnitude >= std::bit_cast<std::uint32_t>(448.0F)) {
    return static_cast<std::uint8_t>(sign | 0x7EU);
  }
  if (magnitude < std::bit_cast<std::uint32_t>(0x1p-6F)) {
    // Below 2^-6 they are multiples of 2^-9, and so are the floats in [2^14, 2^15): the addition
    // rounds as wanted.
    const float shifted = std::bit_cast<float>(magnitude) + 0x1p14F;
    return static_cast<std::uint8_t>(
        sign | (std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0x1p14F)));
  }
  const std::uint32_t rebiased = magnitude - ((127U - 7U) << 23);
  const std::uint32_t odd = (rebiased >> 20) & 1U;
  return static_cast<std::uint8_t>(sign | ((rebiased + 0x7FFFFU + odd) >> 20));
}

constexpr float e4m3_value(std::uint8_t bits) {
  const std::uint32_t sign = (bits & 0x80U) << 24;
  const std::uint32_t magnitude = bits & 0x7FU;
  if (magnitude == 0x7FU) return std::bit_cast<float>(sign | 0x7FC0'0000U);
  // Multiplying by a power of two makes up for the other bias, exactly.
  const float value = std::bit_cast<float>(magnitude << 20) * 0x1p120F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
}

/// An element of a tensor.
struct E4m3 {
  std::uint8_t bits;
  E4m3() = default;
  constexpr explicit E4m3(float value) : bits(e4m3_bits(value)) {}
  constexpr operator float() const { return e4m3_value(bits); }
};

}  // namespace vramfit
