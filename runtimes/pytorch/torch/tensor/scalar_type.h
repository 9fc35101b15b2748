#pragma once

#include <cstdint>

#include "model/dtype.h"

namespace vramfit::pytorch {

/// c10::ScalarType, as far as a step needs it.
enum class ScalarType : std::uint8_t {
  Float,
  Half,
  BFloat16,
  Long,
  Int,
  Bool,
  Byte,
  Char,
  ComplexFloat
};

/// Of a precision that people ask for.
constexpr ScalarType scalar_type(DType precision) {
  switch (precision) {
    case DType::Fp16:
      return ScalarType::Half;
    case DType::Bf16:
      return ScalarType::BFloat16;
    default:
      return ScalarType::Float;
  }
}

constexpr std::int64_t element_size(ScalarType type) {
  switch (type) {
    case ScalarType::Long:
    case ScalarType::ComplexFloat:
      return 8;
    case ScalarType::Float:
    case ScalarType::Int:
      return 4;
    case ScalarType::Half:
    case ScalarType::BFloat16:
      return 2;
    case ScalarType::Bool:
    case ScalarType::Byte:
    case ScalarType::Char:
      return 1;
  }
  return 0;
}

constexpr bool is_floating(ScalarType type) {
  return type == ScalarType::Float || type == ScalarType::Half || type == ScalarType::BFloat16;
}

/// Of two floats.
constexpr bool is_complex(ScalarType type) { return type == ScalarType::ComplexFloat; }

constexpr bool is_half(ScalarType type) {
  return type == ScalarType::Half || type == ScalarType::BFloat16;
}

}  // namespace vramfit::pytorch
