#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/cpu/half.h"
#include "model/dtype.h"

namespace vramfit {

/// What sums over elements are computed in, as accumulation_dtype says.
template <typename Element>
using Accumulator =
    std::conditional_t<std::is_same_v<std::remove_const_t<Element>, double>, double, float>;

template <typename Element>
constexpr DType dtype_of() {
  using Plain = std::remove_const_t<Element>;
  if constexpr (std::is_same_v<Plain, double>) return DType::Fp64;
  if constexpr (std::is_same_v<Plain, float>) return DType::Fp32;
  if constexpr (std::is_same_v<Plain, Half>) return DType::Fp16;
  if constexpr (std::is_same_v<Plain, Bfloat>) return DType::Bf16;
  if constexpr (std::is_same_v<Plain, std::int32_t>) return DType::Int32;
}

/// Calls `body` with a value of the type that elements of `dtype` have; the one place where dtypes
/// become types.
template <typename Body>
void with_element(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::Fp64:
      return body(double{});
    case DType::Fp32:
      return body(float{});
    case DType::Fp16:
      return body(Half{});
    case DType::Bf16:
      return body(Bfloat{});
    case DType::Int32:
      break;
  }
  throw std::logic_error(std::string("an op computes with floating point, not ") + name(dtype));
}

}  // namespace vramfit
