#pragma once

#include <cstdint>

#include "kernels/cpu/element.h"
#include "model/memory/tensor.h"

namespace vramfit {

/// Rows of equally many elements. `step` elements lie from the start of a row to the next one's.
template <typename Element>
struct Matrix {
  Element* first = nullptr;
  std::int64_t step = 0;

  Element* operator[](std::int64_t row) const { return first + row * step; }
};

/// Throws std::logic_error, which names the tensor, unless it has memory and stores exactly
/// `elements` elements of `format`, padding included.
void require(const Tensor& tensor, Format format, std::int64_t elements);

/// Throws std::logic_error unless the workspace has at least `bytes` bytes.
void require_workspace(const Tensor& workspace, std::uint64_t bytes);

/// Throws std::logic_error with `what` unless `holds`.
void require(bool holds, const char* what);

/// All that `tensor` stores, as a matrix: what an op reads.
template <typename Element>
Matrix<const Element> input(const Tensor& tensor, std::int64_t rows, std::int64_t columns) {
  require(tensor, format_of<Element>(), rows * columns);
  return {tensor.as<const Element>(), columns};
}

/// The same for what an op writes, whether or not it reads it first.
template <typename Element>
Matrix<Element> output(const Tensor& tensor, std::int64_t rows, std::int64_t columns) {
  require(tensor, format_of<Element>(), rows * columns);
  return {tensor.as<Element>(), columns};
}

/// Vectors: matrices of one row.
template <typename Element>
const Element* input(const Tensor& tensor, std::int64_t elements) {
  return input<Element>(tensor, 1, elements)[0];
}

template <typename Element>
Element* output(const Tensor& tensor, std::int64_t elements) {
  return output<Element>(tensor, 1, elements)[0];
}

/// Null where the op has no such tensor.
template <typename Element>
const Element* input(const Tensor* tensor, std::int64_t elements) {
  return tensor == nullptr ? nullptr : input<Element>(*tensor, elements);
}

template <typename Element>
Element* output(const Tensor* tensor, std::int64_t elements) {
  return tensor == nullptr ? nullptr : output<Element>(*tensor, elements);
}

/// Σ a[i · a_step] · b[i · b_step] for i below `count`.
template <typename A, typename B>
Accumulator<A> dot(const A* a, std::int64_t a_step, const B* b, std::int64_t b_step,
                   std::int64_t count) {
  static_assert(std::is_same_v<Accumulator<A>, Accumulator<B>>);
  Accumulator<A> sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    sum += static_cast<Accumulator<A>>(a[i * a_step]) * static_cast<Accumulator<A>>(b[i * b_step]);
  }
  return sum;
}

/// Calls `take` with each `j` below `columns` and Σ a[i · a_step] · b[i · b_step + j · b_next] for
/// i below `count`: dot's sums to the bit, but several at once, since each addition waits for the
/// one before.
template <typename A, typename B, typename Take>
void dots(const A* a, std::int64_t a_step, const B* b, std::int64_t b_step, std::int64_t b_next,
          std::int64_t count, std::int64_t columns, const Take& take) {
  constexpr std::int64_t kAbreast = 8;
  std::int64_t first = 0;
  for (; first + kAbreast <= columns; first += kAbreast) {
    Accumulator<A> sums[kAbreast] = {};
    for (std::int64_t i = 0; i < count; ++i) {
      const auto factor = static_cast<Accumulator<A>>(a[i * a_step]);
      const B* factors = b + i * b_step + first * b_next;
      for (std::int64_t j = 0; j < kAbreast; ++j) {
        sums[j] += factor * static_cast<Accumulator<A>>(factors[j * b_next]);
      }
    }
    for (std::int64_t j = 0; j < kAbreast; ++j) take(first + j, sums[j]);
  }
  for (; first < columns; ++first) {
    take(first, dot(a, a_step, b + first * b_next, b_step, count));
  }
}

/// to = value, or to += value, rounded once.
template <typename Element>
void store(Element& to, Accumulator<Element> value, bool accumulate) {
  to = static_cast<Element>(accumulate ? static_cast<Accumulator<Element>>(to) + value : value);
}

}  // namespace vramfit
