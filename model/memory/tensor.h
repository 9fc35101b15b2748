#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "model/format.h"
#include "model/memory/ledger.h"

namespace vramfit {

/// Sizes of a tensor's dimensions, outermost first; row-major, at most four.
class Shape {
 public:
  static constexpr std::size_t kMaxRank = 4;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes);

  std::size_t rank() const { return rank_; }
  std::int64_t operator[](std::size_t i) const { return sizes_[i]; }

  /// Product of all sizes; throws BadInput where it overflows.
  std::int64_t elements() const;

  friend bool operator==(const Shape& a, const Shape& b) {
    return a.rank_ == b.rank_ && a.sizes_ == b.sizes_;
  }

 private:
  std::array<std::int64_t, kMaxRank> sizes_{};
  std::size_t rank_ = 0;
};

/// Memory with a meaning. Move-only: it is born in the ledger and freed by leaving scope. A view is
/// a tensor within another one's memory, which must outlive it; the ledger knows nothing of it.
class Tensor {
 public:
  /// Holds nothing.
  Tensor() = default;

  /// `stored` is `shape` with the padding that is stored behind its rows, where there is any; it is
  /// what the ledger counts. Throws OutOfMemory.
  Tensor(Ledger& ledger, const Name& name, Category category, Format format, const Shape& shape,
         const Shape& stored);
  Tensor(Ledger& ledger, const Name& name, Category category, Format format, const Shape& shape)
      : Tensor(ledger, name, category, format, shape, shape) {}
  ~Tensor() { release(); }

  /// What lies so many bytes into `whole`; throws std::logic_error where it does not hold as much.
  static Tensor view(const Tensor& whole, std::uint64_t offset, const Name& name, Category category,
                     Format format, const Shape& shape, const Shape& stored);

  // NOLINTNEXTLINE(performance-move-constructor-init): no member is dearer to copy than to move
  Tensor(Tensor&& other) noexcept : Tensor(std::as_const(other)) { other.forget(); }
  Tensor& operator=(Tensor&& other) noexcept;

  /// Frees the memory now, where it is its own; holds nothing from here on.
  void release() noexcept;
  explicit operator bool() const { return holds_; }

  const Name& name() const { return name_; }
  Category category() const { return category_; }
  Format format() const { return format_; }
  const Shape& shape() const { return shape_; }
  const Shape& stored() const { return stored_; }
  std::uint64_t bytes() const { return bytes_; }

  /// Null on a device without memory. The tensor owns it.
  void* data() const { return block_.data; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(block_.data);
  }

 private:
  // What a move copies, before the other one forgets it.
  Tensor(const Tensor&) = default;
  Tensor& operator=(const Tensor&) = default;
  void forget() noexcept {
    ledger_ = nullptr;
    block_ = {};
    holds_ = false;
  }

  Ledger* ledger_ = nullptr;  ///< null in a view
  Block block_;
  std::uint64_t bytes_ = 0;
  Name name_;
  Shape shape_;
  Shape stored_;
  Category category_ = Category::Parameters;
  Format format_ = DType::Fp32;
  bool holds_ = false;
};

}  // namespace vramfit
