#pragma once

#include <cstdint>

namespace vramfit {

/// Dynamic quantisation to 8 bits (Dettmers et al. 2022, "8-bit Optimizers via Block-wise
/// Quantization"): seven decades below 1, each with twice the steps of the one below it, 0 and 1.
/// The values are those of bitsandbytes' create_dynamic_map, numbered by magnitude. They are
/// relative to the largest of their block.
///
/// kSteps: of the lowest decade; 1 for codes with a sign, of 7 bits, 2 for those without.
template <int kSteps>
struct DynamicDecades {
  static constexpr int kDecades = 7;
  static constexpr int kOne = (kSteps << kDecades) - kSteps + 1;  ///< the number of 1

  static constexpr float value(int number) {
    if (number == 0) return 0.0F;
    if (number == kOne) return 1.0F;
    int i = 0;
    while (number >= first(i + 1)) ++i;
    const float width = 0.9F * decade(i) / static_cast<float>(kSteps << i);
    return 0.1F * decade(i) + (static_cast<float>(number - first(i)) + 0.5F) * width;
  }

 private:
  static constexpr float decade(int i) {
    float value = 1.0F;
    for (; i < kDecades - 1; ++i) value /= 10.0F;
    return value;
  }
  static constexpr int first(int i) { return (kSteps << i) - kSteps + 1; }
};

/// Of what has a sign: Adam's m. Numbers in two's complement; −128 stands for 1, which has no
/// negative.
struct SignedCodes {
  using Decades = DynamicDecades<1>;
  static constexpr int kMostNegative = Decades::kOne - 1;

  static constexpr float value(std::uint8_t code) {
    const int number = code <= Decades::kOne ? code : code - 256;
    return number < 0 ? -Decades::value(-number) : Decades::value(number);
  }
};

/// Of what has none: Adam's v.
struct UnsignedCodes {
  using Decades = DynamicDecades<2>;
  static constexpr int kMostNegative = 0;

  static constexpr float value(std::uint8_t code) { return Decades::value(code); }
};

/// Elements of a parameter, one after the other, that share a scale: the largest magnitude.
inline constexpr std::int64_t kDynamicBlock = 256;

/// Of scales beyond these, whose reciprocals are no normal numbers, all codes are 0.
inline constexpr float kLeastScale = 0x1p-126F;
inline constexpr float kLargestScale = 0x1p126F;

}  // namespace vramfit
