#pragma once

#include <bit>
#include <cstdint>
#include <stdexcept>

#include "model/optimizer/dynamic_codes.h"

namespace vramfit {

/// What SignedCodes or UnsignedCodes are read with and found by: one look each, on the host and on
/// GPUs.
///
/// Magnitudes are in cells of those whose first 16 bits agree, none with more than one threshold in
/// it, from which on the next code is nearer. The bits of a magnitude and its cell's entry have a
/// sum whose third byte is the nearest code: from the threshold on, what is below it carries.
/// Negative numbers have cells of their own, from which the bits are taken off.
template <typename Codes>
struct CodeTable {
  using Decades = typename Codes::Decades;

  static constexpr float kLeast = 0x1p-23F;  ///< below the lowest threshold
  static constexpr std::uint32_t kFirstCell = std::bit_cast<std::uint32_t>(kLeast) >> 16;
  static constexpr std::uint32_t kCells =
      (std::bit_cast<std::uint32_t>(1.0F) >> 16) - kFirstCell + 1;
  static constexpr bool kSigned = Codes::kMostNegative > 0;

  float values[256] = {};
  std::uint32_t entries[kCells * (kSigned ? 2 : 1)] = {};

  constexpr CodeTable() {
    for (int code = 0; code < 256; ++code) values[code] = Codes::value(to_byte(code));
    fill(Decades::kOne, [this](std::uint32_t cell, int code, std::uint32_t threshold) {
      entries[cell] = shifted(code) + (0x10000 - threshold) - first_of(cell);
    });
    if constexpr (kSigned) {
      fill(Codes::kMostNegative, [this](std::uint32_t cell, int code, std::uint32_t threshold) {
        entries[kCells + cell] = shifted(-code) + threshold + first_of(cell);
      });
    }
  }

  /// The nearest code of x, from −1 to 1, where it has no sign from 0 on; of no number: 0.
  constexpr std::uint8_t code(float x) const {
    const float magnitude = x < 0 ? -x : x;
    const std::uint32_t sign = kSigned && x < 0 ? ~0U : 0U;
    return to_byte(
        find(std::bit_cast<std::uint32_t>(magnitude > kLeast ? magnitude : kLeast), sign) >> 16);
  }

  /// The same, of the bits of a magnitude that is kLeast or more, and of a sign that is all bits or
  /// none; the code is the result's third byte.
  constexpr std::uint32_t find(std::uint32_t magnitude, std::uint32_t sign) const {
    const std::uint32_t cell = (magnitude >> 16) - kFirstCell + (sign & kCells);
    return entries[cell] + (magnitude ^ sign);
  }

 private:
  template <typename Number>
  static constexpr std::uint8_t to_byte(Number x) {
    return static_cast<std::uint8_t>(x);
  }
  static constexpr std::uint32_t shifted(int code) {
    return static_cast<std::uint32_t>(code) << 16;
  }

  /// A cell's first magnitude.
  static constexpr std::uint32_t first_of(std::uint32_t cell) { return (kFirstCell + cell) << 16; }

  /// The bits of the least magnitude that is no nearer to code − 1 than to `code`.
  static constexpr std::uint32_t threshold(int code) {
    const double middle = (static_cast<double>(Decades::value(code - 1)) +
                           static_cast<double>(Decades::value(code))) /
                          2;
    const auto rounded = static_cast<float>(middle);
    const bool below = static_cast<double>(rounded) < middle;
    return std::bit_cast<std::uint32_t>(rounded) + (below ? 1 : 0);
  }

  /// Calls `enter` with every cell, the code at its beginning and the last 16 bits of the threshold
  /// in it; 2^16: there is none.
  template <typename Enter>
  static constexpr void fill(int last_code, const Enter& enter) {
    constexpr std::uint32_t kNone = 0x10000;
    int code = 0;
    for (std::uint32_t cell = 0; cell < kCells; ++cell) {
      const std::uint32_t next = code < last_code ? threshold(code + 1) : ~0U;
      const bool there = next >> 16 == kFirstCell + cell;
      enter(cell, code, there ? next & 0xFFFF : kNone);
      if (!there) continue;
      ++code;
      if (code < last_code && threshold(code + 1) >> 16 == next >> 16) {
        throw std::logic_error("two thresholds in a cell");
      }
    }
    if (code != last_code) throw std::logic_error("a threshold below the first cell");
  }
};

template <typename Codes>
inline constexpr CodeTable<Codes> kCodeTable{};

}  // namespace vramfit
