#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "model/dtype.h"

namespace vramfit {

/// How elements are stored: one after the other, or in blocks that share scales.
struct FormatRow {
  const char* name;
  DType element;            ///< what an element stands for once it is read
  std::uint32_t bits;       ///< of an element as stored
  DType sums;               ///< what sums over elements are kept in, and row statistics with them
  std::uint32_t block = 1;  ///< elements that share scales
  std::uint32_t scale_bits = 0;  ///< of a block's scales; 0: the format is plain

  constexpr bool plain() const { return scale_bits == 0; }

  /// Of elements that follow each other, in blocks counted from the first: the last block has its
  /// scales even where it is not full. Throws BadInput where they overflow.
  std::uint64_t bytes(std::int64_t elements) const;
};

/// Every format. A plain one stands at its element's place in DType; devices name their type for
/// each element (kernels/cpu/element.h, kernels/cuda/base/element.h) and dispatch by this table.
inline constexpr std::array kFormats = {
    FormatRow{"fp64", DType::Fp64, 64, DType::Fp64},
    FormatRow{"fp32", DType::Fp32, 32, DType::Fp32},
    FormatRow{"fp16", DType::Fp16, 16, DType::Fp32},
    FormatRow{"bf16", DType::Bf16, 16, DType::Fp32},
    FormatRow{"int32", DType::Int32, 32, DType::Fp32},
    // 4 exponent bits and 3 of mantissa, up to 448 (Micikevicius et al. 2022); scales are tensors.
    FormatRow{"fp8", DType::Fp8, 8, DType::Fp32},
    FormatRow{"int8", DType::Int8, 8, DType::Fp32},
    // The 16 quantiles of a normal distribution, fp32 scales (Dettmers et al. 2023).
    FormatRow{"nf4", DType::Fp32, 4, DType::Fp32, 64, 32},
    // Uniform, an fp16 scale and a zero point of 4 bits, as AWQ and GPTQ store it.
    FormatRow{"int4", DType::Fp16, 4, DType::Fp32, 128, 20},
};

/// A row of kFormats, in one byte.
class Format {
 public:
  /// The plain format of such elements.
  constexpr Format(DType element) : row_(static_cast<std::uint8_t>(element)) {}
  /// Absent where no format has that name.
  static constexpr std::optional<Format> named(std::string_view name) {
    for (std::size_t row = 0; row < kFormats.size(); ++row) {
      if (kFormats[row].name == name) return Format(row);
    }
    return std::nullopt;
  }

  constexpr const FormatRow& row() const { return kFormats[row_]; }
  constexpr const char* name() const { return row().name; }
  constexpr DType element() const { return row().element; }
  std::uint64_t bytes(std::int64_t elements) const { return row().bytes(elements); }

  // Written out: nvcc 13.0 loses the equality that a defaulted comparison brings along.
  friend constexpr bool operator==(Format a, Format b) { return a.row_ == b.row_; }
  friend constexpr auto operator<=>(Format a, Format b) { return a.row_ <=> b.row_; }

 private:
  constexpr explicit Format(std::size_t row) : row_(static_cast<std::uint8_t>(row)) {}

  std::uint8_t row_;
};

inline constexpr Format kNf4 = *Format::named("nf4");
inline constexpr Format kInt4 = *Format::named("int4");

constexpr bool is_16_bit(Format format) { return format.row().bits == 16; }
/// Whether elements mean nothing without scales.
constexpr bool is_quantized(Format format) { return format.row().bits <= 8; }
/// Whether its rows have a scale each, in a tensor beside them: elements of 8 bits reach too
/// little.
constexpr bool has_row_scales(Format format) { return format.row().bits == 8; }
constexpr DType accumulation_dtype(Format format) { return format.row().sums; }

/// Calls `body` with a plain format's element as a std::integral_constant: where a format, which is
/// a value, becomes a type. Returns false, and calls nothing, where the format has blocks.
template <typename Body>
constexpr bool with_plain_element(Format format, const Body& body) {
  return [&]<std::size_t... kRow>(std::index_sequence<kRow...>) {
    const auto is = [format](std::size_t row) { return &format.row() == &kFormats[row]; };
    return ((kFormats[kRow].plain() && is(kRow) &&
             (body(std::integral_constant<DType, kFormats[kRow].element>{}), true)) ||
            ...);
  }
  (std::make_index_sequence<kFormats.size()>{});
}

}  // namespace vramfit
