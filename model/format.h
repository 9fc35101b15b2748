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

/// What elements are multiplied by that mean nothing alone.
enum class Scales : std::uint8_t {
  None,    ///< they mean what they are
  Row,     ///< by an fp32 of their row's, in a tensor beside them
  Block,   ///< by what neighbours share, which stands behind all elements of the tensor
  Within,  ///< by what neighbours share, which stands among them
};

/// How the bits of an element are read, before its scale.
enum class Codec : std::uint8_t {
  Element,   ///< as `element` is
  Codebook,  ///< the number of a value of its `codebook`, of 4 bits
  Offset,    ///< a whole number from 0 on, less the zero point of its block
};

/// What codes of 4 bits stand for, ascending.
struct Codebook {
  float values[16];
};

/// The quantiles of a normal distribution that bitsandbytes takes: create_normal_map, after
/// Dettmers et al. 2023.
inline constexpr Codebook kNormalQuantiles = {{
    -1.0F,
    -0.6961928009986877F,
    -0.5250730514526367F,
    -0.39491748809814453F,
    -0.28444138169288635F,
    -0.18477343022823334F,
    -0.09105003625154495F,
    0.0F,
    0.07958029955625534F,
    0.16093020141124725F,
    0.24611230194568634F,
    0.33791524171829224F,
    0.44070982933044434F,
    0.5626170039176941F,
    0.7229568362236023F,
    1.0F,
}};

/// How elements are stored, and all that reading, writing and counting them asks.
struct FormatRow {
  const char* name = "";
  DType element = DType::Fp32;  ///< what an element is; of other codecs, what it stands for
  std::uint32_t bits = 32;      ///< of an element as stored
  DType sums = DType::Fp32;  ///< what sums over elements are kept in, and row statistics with them
  Scales scales = Scales::None;
  Codec codec = Codec::Element;
  Codebook codebook = {};
  float largest = 0;  ///< magnitude of a code: what the largest of those that share a scale becomes
  std::uint32_t block = 1;    ///< elements that share scales: rows are whole ones
  DType scale = DType::Fp32;  ///< what a scale is stored in
  std::uint32_t zero_bits =
      0;  ///< of a block's zero point, or whatever else it has beside its scale
  /// Of a block with all that it has, where it is known by its size alone: no device reads it.
  std::uint32_t packed_bytes = 0;

  constexpr bool packed() const { return packed_bytes != 0; }
  /// Whether a tensor holds elements and nothing else.
  constexpr bool plain() const { return scales != Scales::Block && !packed(); }

  /// What sizes of a matrix are multiples of, where its elements have scales: a block, or 16 bytes,
  /// which tensor cores read at once.
  constexpr std::int64_t multiple() const { return plain() ? 16 : block; }

  /// Of elements that follow each other, in blocks counted from the first: the last block has its
  /// scales even where it is not full. Throws BadInput where they overflow.
  std::uint64_t bytes(std::int64_t elements) const;
};

/// One of ggml's types, by its traits (ggml.c: type_traits): `bytes` for `block` elements.
constexpr FormatRow packed_row(const char* name, std::uint32_t block, std::uint32_t bytes) {
  return {.name = name,
          .bits = bytes * 8 / block,
          .scales = block > 1 ? Scales::Within : Scales::None,
          .block = block,
          .packed_bytes = bytes};
}

/// Every format. A plain one stands at its element's place in DType; devices name their type for
/// each element (kernels/cpu/element.h, kernels/cuda/base/element.h) and dispatch by this table.
inline constexpr std::array kFormats = {
    FormatRow{.name = "fp64", .element = DType::Fp64, .bits = 64, .sums = DType::Fp64},
    FormatRow{.name = "fp32", .element = DType::Fp32, .bits = 32},
    FormatRow{.name = "fp16", .element = DType::Fp16, .bits = 16},
    FormatRow{.name = "bf16", .element = DType::Bf16, .bits = 16},
    FormatRow{.name = "int32", .element = DType::Int32, .bits = 32},
    // 4 exponent bits and 3 of mantissa (Micikevicius et al. 2022).
    FormatRow{
        .name = "fp8", .element = DType::Fp8, .bits = 8, .scales = Scales::Row, .largest = 448},
    FormatRow{
        .name = "int8", .element = DType::Int8, .bits = 8, .scales = Scales::Row, .largest = 127},
    // bitsandbytes', without double quantisation.
    FormatRow{.name = "nf4",
              .bits = 4,
              .scales = Scales::Block,
              .codec = Codec::Codebook,
              .codebook = kNormalQuantiles,
              .largest = 1,
              .block = 64},
    // As AWQ and GPTQ store it.
    FormatRow{.name = "int4",
              .bits = 4,
              .scales = Scales::Block,
              .codec = Codec::Offset,
              .largest = 15,
              .block = 128,
              .scale = DType::Fp16,
              .zero_bits = 4},
    // Those of GGUF files, named as there, that are none of the above.
    packed_row("i16", 1, 2),
    packed_row("i64", 1, 8),
    packed_row("q1_0", 128, 18),
    packed_row("q2_0", 64, 18),
    packed_row("q4_0", 32, 18),
    packed_row("q4_1", 32, 20),
    packed_row("q5_0", 32, 22),
    packed_row("q5_1", 32, 24),
    packed_row("q8_0", 32, 34),
    packed_row("q8_1", 32, 36),
    packed_row("q2_K", 256, 84),
    packed_row("q3_K", 256, 110),
    packed_row("q4_K", 256, 144),
    packed_row("q5_K", 256, 176),
    packed_row("q6_K", 256, 210),
    packed_row("q8_K", 256, 292),
    packed_row("iq1_s", 256, 50),
    packed_row("iq1_m", 256, 56),
    packed_row("iq2_xxs", 256, 66),
    packed_row("iq2_xs", 256, 74),
    packed_row("iq2_s", 256, 82),
    packed_row("iq3_xxs", 256, 98),
    packed_row("iq3_s", 256, 110),
    packed_row("iq4_nl", 32, 18),
    packed_row("iq4_xs", 256, 136),
    packed_row("tq1_0", 256, 54),
    packed_row("tq2_0", 256, 66),
    packed_row("mxfp4", 32, 17),
    packed_row("nvfp4", 64, 36),
};

/// Those that devices read stand before those that none does.
inline constexpr std::size_t kReadFormats = [] {
  std::size_t read = 0;
  while (read < kFormats.size() && !kFormats[read].packed()) ++read;
  return read;
}();

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

constexpr bool is_16_bit(Format format) { return format.row().bits == 16; }
/// Whether elements mean nothing without scales.
constexpr bool is_quantized(Format format) { return format.row().scales != Scales::None; }
/// Whether its rows have a scale each, in a tensor beside them.
constexpr bool has_row_scales(Format format) { return format.row().scales == Scales::Row; }
constexpr DType accumulation_dtype(Format format) { return format.row().sums; }

/// Calls `body` with the format's place in the table as a std::integral_constant: where a format,
/// which is a value, becomes a type. None that no device reads does.
template <typename Body>
constexpr void with_row(Format format, const Body& body) {
  [&]<std::size_t... kRow>(std::index_sequence<kRow...>) {
    const auto is = [format](std::size_t row) { return &format.row() == &kFormats[row]; };
    static_cast<void>(
        ((is(kRow) && (body(std::integral_constant<std::size_t, kRow>{}), true)) || ...));
  }
  (std::make_index_sequence<kReadFormats>{});
}

/// Calls `body` with a plain format's element as a std::integral_constant. Returns false, and calls
/// nothing, where the format has blocks.
template <typename Body>
constexpr bool with_plain_element(Format format, const Body& body) {
  bool plain = false;
  with_row(format, [&](auto row) {
    if constexpr (kFormats[decltype(row)::value].plain()) {
      plain = true;
      body(std::integral_constant<DType, kFormats[decltype(row)::value].element>{});
    }
  });
  return plain;
}

}  // namespace vramfit
