#pragma once

#include <cstdint>

namespace vramfit {

/// Dynamic quantisation to 8 bits (Dettmers et al. 2022, "8-bit Optimizers via Block-wise
/// Quantization"): seven decades below 1, each with twice the steps of the one below it, 0 and 1.
/// The values are those of bitsandbytes' create_dynamic_map; codes are numbered by magnitude, a
/// signed one's sign in its highest bit. Values are relative to the largest of their block.
///
/// kSteps: of the lowest decade; 1 for codes with a sign, of 7 bits, 2 for those without.
template <int kSteps>
struct DynamicDecades {
  static constexpr int kDecades = 7;
  static constexpr int kOne = (kSteps << kDecades) - kSteps + 1;  ///< the code of 1

  static constexpr float decade(int i) {
    float value = 1.0F;
    for (; i < kDecades - 1; ++i) value /= 10.0F;
    return value;
  }
  static constexpr int steps(int i) { return kSteps << i; }
  static constexpr int first_code(int i) { return steps(i) - kSteps + 1; }
  static constexpr float lowest(int i) { return 0.1F * decade(i); }
  static constexpr float width(int i) { return 0.9F * decade(i) / static_cast<float>(steps(i)); }

  static constexpr float value(int code) {
    if (code == 0) return 0.0F;
    if (code == kOne) return 1.0F;
    int i = 0;
    while (code >= first_code(i + 1)) ++i;
    const int step = code - first_code(i);
    return lowest(i) + (static_cast<float>(step) + 0.5F) * width(i);
  }
  /// From here on a decade's codes are nearer than those below it; of kDecades: that of 1.
  static constexpr float threshold(int i) {
    return 0.5F * (value(first_code(i) - 1) + value(first_code(i)));
  }

  /// The nearest code of a magnitude from 0 to 1; of what is no number: 0.
  static constexpr int code(float x) {
    if (!(x >= threshold(0))) return 0;
    if (x >= threshold(kDecades)) return kOne;
    int i = 0;
    while (i + 1 < kDecades && x >= threshold(i + 1)) ++i;
    return in_decade(x, lowest(i), 1.0F / width(i), first_code(i), steps(i));
  }
  static constexpr int in_decade(float x, float lowest, float steps_per_one, int first, int steps) {
    const int step = static_cast<int>((x - lowest) * steps_per_one);
    return first + (step < 0 ? 0 : step < steps ? step : steps - 1);
  }
};

/// Of what has a sign: Adam's m. The negative zero stands for 1, which has no negative.
struct SignedCodes {
  using Decades = DynamicDecades<1>;
  static constexpr std::uint8_t kSign = 0x80;

  static constexpr float value(std::uint8_t code) {
    if (code == kSign) return 1.0F;
    const float magnitude = Decades::value(code & 0x7F);
    return (code & kSign) != 0 ? -magnitude : magnitude;
  }
  static constexpr std::uint8_t with_sign(int magnitude, bool negative) {
    if (magnitude == Decades::kOne) return negative ? 0xFF : kSign;
    return static_cast<std::uint8_t>(negative && magnitude > 0 ? magnitude | kSign : magnitude);
  }
  static constexpr std::uint8_t code(float x) {
    return with_sign(Decades::code(x < 0 ? -x : x), x < 0);
  }
};

/// Of what has none: Adam's v.
struct UnsignedCodes {
  using Decades = DynamicDecades<2>;

  static constexpr float value(std::uint8_t code) { return Decades::value(code); }
  static constexpr std::uint8_t code(float x) {
    return static_cast<std::uint8_t>(Decades::code(x));
  }
};

/// Elements of a parameter, one after the other, that share a scale: the largest magnitude.
inline constexpr std::int64_t kDynamicBlock = 256;

/// Of smaller scales, whose reciprocals are no numbers, all codes are 0.
inline constexpr float kLeastScale = 1.17549435e-38F;

}  // namespace vramfit
