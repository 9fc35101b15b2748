#pragma once

#include <bit>
#include <cstdint>

// The 16-bit formats as plain integer arithmetic, so that they round alike on every CPU: to
// nearest, ties to even, beyond the range to infinity. A NaN stays one, and loses its payload.
// Choices rather than branches, of which loops over many can be made vectors.

namespace vramfit {

/// IEEE 754 binary16: 1 sign bit, 5 exponent bits with bias 15, 10 mantissa bits.
constexpr std::uint16_t half_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFF'FFFFU;
  // Below 2^-14 halves are multiples of 2^-24, and so are the floats in [0.5, 1): the addition
  // rounds as wanted.
  constexpr std::uint32_t kSmall = 0x3880'0000U;
  const float shifted = std::bit_cast<float>(magnitude < kSmall ? magnitude : 0U) + 0.5F;
  const std::uint32_t multiple =
      std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5F);
  const std::uint32_t rebiased = magnitude - ((127U - 15U) << 23);
  const std::uint32_t odd = (rebiased >> 13) & 1U;
  std::uint32_t half = magnitude < kSmall ? multiple : (rebiased + 0x0FFFU + odd) >> 13;
  // 65520, halfway between the largest half and the power of two above it.
  half = magnitude >= 0x477F'F000U ? 0x7C00U : half;
  half = magnitude > 0x7F80'0000U ? 0x7E00U : half;
  return static_cast<std::uint16_t>(sign | half);
}

constexpr float half_value(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t magnitude = (bits & 0x7FFFU) << 13;
  // As a float the exponent's bias is 127 instead of 15; multiplying by a power of two makes up for
  // it, exactly, and normalizes subnormals on the way.
  const float value = std::bit_cast<float>(magnitude) * 0x1p112F;
  const bool finite = magnitude < (0x1FU << 23);
  const std::uint32_t widened =
      finite ? std::bit_cast<std::uint32_t>(value) : magnitude | 0x7F80'0000U;
  return std::bit_cast<float>(sign | widened);
}

/// bfloat16: the upper half of a binary32.
constexpr std::uint16_t bfloat_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  const bool is_nan = (bits & 0x7FFF'FFFFU) > 0x7F80'0000U;
  return static_cast<std::uint16_t>(is_nan ? (bits >> 16) | 0x40U : rounded);
}

constexpr float bfloat_value(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

/// Elements of tensors: they are stored in 16 bits and computed with as floats.
struct Half {
  std::uint16_t bits;
  Half() = default;
  constexpr explicit Half(float value) : bits(half_bits(value)) {}
  constexpr operator float() const { return half_value(bits); }
};

struct Bfloat {
  std::uint16_t bits;
  Bfloat() = default;
  constexpr explicit Bfloat(float value) : bits(bfloat_bits(value)) {}
  constexpr operator float() const { return bfloat_value(bits); }
};

}  // namespace vramfit
