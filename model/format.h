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
  DType element;             ///< what an element stands for once it is read
  std::uint32_t bits;        ///< of an element as stored
  DType sums;                ///< what sums over elements are kept in, and row statistics with them
  std::uint32_t block = 1;   ///< elements that share scales
  std::uint32_t scales = 0;  ///< bytes of a block's scales; 0: the format is plain

  constexpr bool plain() const { return scales == 0; }

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
};

/// A row of kFormats, in one byte.
class Format {
 public:
  /// The plain format of such elements.
  constexpr Format(DType element) : row_(static_cast<std::uint8_t>(element)) {}
  /// Absent where no format has that name.
  static std::optional<Format> named(std::string_view name);

  constexpr const FormatRow& row() const { return kFormats[row_]; }
  constexpr const char* name() const { return row().name; }
  constexpr DType element() const { return row().element; }
  std::uint64_t bytes(std::int64_t elements) const { return row().bytes(elements); }

  // Written out: nvcc 13.0 loses the equality that a defaulted comparison brings along.
  friend constexpr bool operator==(Format a, Format b) { return a.row_ == b.row_; }
  friend constexpr auto operator<=>(Format a, Format b) { return a.row_ <=> b.row_; }

 private:
  std::uint8_t row_;
};

constexpr bool is_16_bit(Format format) { return format.row().bits == 16; }
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
