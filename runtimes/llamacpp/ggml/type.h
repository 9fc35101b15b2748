#pragma once

#include <cstdint>

#include "model/format.h"

namespace vramfit::llamacpp::ggml {

/// What elements of a tensor are: ggml_type, as far as ops ask.
enum class Kind : std::uint8_t {
  F32,
  F16,
  BF16,
  I32,
  I64,
  Q40,
  Q41,
  Q50,
  Q51,
  Q80,
  IQ4NL,
  MXFP4,
  NVFP4,
  TQ,         ///< tq1_0 and tq2_0
  Quantised,  ///< any other
};

/// A row of ggml.c's type_traits: elements stand in blocks of some bytes.
struct Type {
  Kind kind = Kind::F32;
  std::uint16_t block = 1;  ///< elements
  std::uint16_t bytes = 4;  ///< of a block

  constexpr bool quantised() const { return kind >= Kind::Q40; }
  constexpr std::uint64_t row_size(std::int64_t elements) const {
    return static_cast<std::uint64_t>(elements) * bytes / block;
  }

  friend constexpr bool operator==(Type a, Type b) {
    return a.kind == b.kind && a.block == b.block && a.bytes == b.bytes;
  }
};

inline constexpr Type kF32{};
inline constexpr Type kF16{Kind::F16, 1, 2};
inline constexpr Type kI32{Kind::I32, 1, 4};
inline constexpr Type kI64{Kind::I64, 1, 8};

/// The type that a file or a cache stores so. Throws BadInput where ggml has none such.
Type type_of(Format format);

}  // namespace vramfit::llamacpp::ggml
