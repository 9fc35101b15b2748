#pragma once

#include "kernels/cpu/quantize_row.h"

// Elements of quantised tensors, one at a time, by what their format's row says of them.

namespace vramfit {

/// The code of two that a byte holds: the earlier one stands above.
constexpr int nibble(const std::uint8_t* bytes, std::int64_t element) {
  return element % 2 == 0 ? bytes[element / 2] >> 4 : bytes[element / 2] & 0xF;
}

/// The two codes of a byte are written one after the other; without a second it holds zeros.
inline void put_nibble(std::uint8_t* bytes, std::int64_t element, float code) {
  std::uint8_t& byte = bytes[element / 2];
  const int whole = static_cast<int>(code);
  byte = static_cast<std::uint8_t>(element % 2 == 0 ? whole << 4 : (byte & 0xF0) | whole);
}

/// What an element's code stands for, before its zero point.
inline float code_of(const Tensor& tensor, std::int64_t element) {
  const FormatRow& format = tensor.format().row();
  const auto* bytes = tensor.as<const std::uint8_t>();
  if (format.codec == Codec::Codebook) return format.codebook.values[nibble(bytes, element)];
  if (format.codec == Codec::Offset) return static_cast<float>(nibble(bytes, element));
  float code = 0;
  with_code(format.element, [&](auto type) {
    code = static_cast<float>(tensor.as<const decltype(type)>()[element]);
  });
  return code;
}

/// The code nearest to `x`, which is in the codes' range.
inline void put_code(const Tensor& tensor, std::int64_t element, float x) {
  const FormatRow& format = tensor.format().row();
  auto* bytes = tensor.as<std::uint8_t>();
  if (format.codec == Codec::Codebook) {
    put_nibble(bytes, element, static_cast<float>(nearest_code(format.codebook, x)));
  } else if (format.codec == Codec::Offset) {
    put_nibble(bytes, element, std::nearbyint(x));
  } else {
    with_code(format.element,
              [&](auto type) { round_to(tensor.as<decltype(type)>()[element], x); });
  }
}

/// What blocks have beside their codes.
class BlockScales {
 public:
  explicit BlockScales(const Tensor& tensor)
      : format_(tensor.format().row()),
        layout_(tensor.format(), tensor.stored().elements()),
        bytes_(tensor.as<std::uint8_t>()) {}

  float scale(std::int64_t block) const {
    float scale = 0;
    with_scale([&](auto* scales) { scale = static_cast<float>(scales[block]); });
    return scale;
  }
  float zero(std::int64_t block) const {
    return format_.zero_bits == 0 ? 0 : static_cast<float>(nibble(bytes_ + layout_.zeros, block));
  }

  /// Returns it as it is stored.
  float put_scale(std::int64_t block, float scale) const {
    with_scale(
        [&](auto* scales) { scales[block] = std::remove_pointer_t<decltype(scales)>(scale); });
    return this->scale(block);
  }
  void put_zero(std::int64_t block, float zero) const {
    put_nibble(bytes_ + layout_.zeros, block, zero);
  }

 private:
  template <typename Body>
  void with_scale(const Body& body) const {
    with_element(format_.scale, [&](auto type) {
      body(reinterpret_cast<decltype(type)*>(bytes_ + layout_.scales));
    });
  }

  const FormatRow& format_;
  BlockLayout layout_;
  std::uint8_t* bytes_;
};

}  // namespace vramfit
