#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace vramfit::pytorch {

/// Any number of T, each there once it is asked for. Those that nearly every op makes do with are
/// in place; further ones, of cat and split, are elsewhere.
template <typename T>
class Few {
 public:
  static constexpr std::size_t kInPlace = 4;

  Few() = default;
  template <typename... Ts>
  requires(sizeof...(Ts) > 0 && (std::is_convertible_v<Ts, T> && ...)) Few(Ts&&... values)
      : in_place_{std::forward<Ts>(values)...} {}

  std::size_t size() const { return kInPlace + (more_ ? more_->size() : 0); }
  T& operator[](std::size_t i) { return i < kInPlace ? in_place_[i] : further(i - kInPlace); }
  /// Of those that were asked for.
  const T& operator[](std::size_t i) const {
    return i < kInPlace ? in_place_[i] : (*more_)[i - kInPlace];
  }

 private:
  T& further(std::size_t i) {
    if (!more_) more_ = std::make_unique<std::vector<T>>();
    if (i >= more_->size()) more_->resize(i + 1);
    return (*more_)[i];
  }

  std::array<T, kInPlace> in_place_{};
  std::unique_ptr<std::vector<T>> more_;
};

}  // namespace vramfit::pytorch
