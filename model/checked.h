#pragma once

#include <cstdint>

#include "model/errors.h"

namespace vramfit {

template <typename Integer>
[[noreturn, gnu::cold, gnu::noinline]] void throw_overflow(Integer a, Integer b) {
  throw BadInput("sizes: " + std::to_string(a) + " x " + std::to_string(b) +
                 " overflows 64 bits; use smaller batch, seq or model sizes");
}

/// a · b, or BadInput: sizes come from users, and one that wraps round would look small and fit.
template <typename Integer>
Integer checked_multiply(Integer a, Integer b) {
  Integer product{};
  if (__builtin_mul_overflow(a, b, &product)) throw_overflow(a, b);
  return product;
}

/// `value` rounded up to a multiple of `step`.
template <typename Integer>
constexpr Integer round_up(Integer value, Integer step) {
  return (value + step - 1) / step * step;
}

/// `value` in pieces of `piece`, the last of them perhaps not whole.
template <typename Integer>
constexpr Integer div_up(Integer value, Integer piece) {
  return (value + piece - 1) / piece;
}

}  // namespace vramfit
