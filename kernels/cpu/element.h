#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/cpu/e4m3.h"
#include "kernels/host/half.h"
#include "model/format.h"

namespace vramfit {

/// What sums over elements are computed in, as accumulation_dtype says.
template <typename Element>
using Accumulator =
    std::conditional_t<std::is_same_v<std::remove_const_t<Element>, double>, double, float>;

/// The host's type of a format's elements.
template <DType>
struct HostElement;
template <>
struct HostElement<DType::Fp64> {
  using Type = double;
};
template <>
struct HostElement<DType::Fp32> {
  using Type = float;
};
template <>
struct HostElement<DType::Fp16> {
  using Type = Half;
};
template <>
struct HostElement<DType::Bf16> {
  using Type = Bfloat;
};
template <>
struct HostElement<DType::Int32> {
  using Type = std::int32_t;
};

template <>
struct HostElement<DType::Fp8> {
  using Type = E4m3;
};
template <>
struct HostElement<DType::Int8> {
  using Type = std::int8_t;
};

/// Whether ops compute with such elements as they are: those of 8 bits have scales beside them.
template <typename Element>
inline constexpr bool kComputes = !std::is_integral_v<Element> && !std::is_same_v<Element, E4m3>;

/// Calls `body` with a value of the type that the format's elements have.
template <typename Body>
void with_element(Format format, const Body& body) {
  bool runs = false;
  with_plain_element(format, [&](auto dtype) {
    using Element = typename HostElement<decltype(dtype)::value>::Type;
    if constexpr (kComputes<Element>) {
      runs = true;
      body(Element{});
    }
  });
  if (runs) return;
  throw std::logic_error(std::string("an op computes with floating point, not ") + format.name());
}

/// Calls `body` with a value of the type that codes of 8 bits have.
template <typename Body>
void with_code(DType element, const Body& body) {
  bool runs = false;
  with_plain_element(element, [&](auto dtype) {
    using Element = typename HostElement<decltype(dtype)::value>::Type;
    if constexpr (is_quantized(decltype(dtype)::value)) {
      runs = true;
      body(Element{});
    }
  });
  if (!runs) throw std::logic_error(std::string("codes are no ") + name(element));
}

/// The plain format whose elements have that type; does not compile where there is none.
template <typename Element>
consteval Format format_of() {
  const FormatRow* found = nullptr;
  for (const FormatRow& row : kFormats) {
    with_plain_element(row.element, [&](auto dtype) {
      using Type = typename HostElement<decltype(dtype)::value>::Type;
      if (std::is_same_v<Type, std::remove_const_t<Element>>) found = &row;
    });
  }
  return found->element;
}

}  // namespace vramfit
