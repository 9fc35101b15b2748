#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "model/memory/category.h"
#include "runtimes/pytorch/torch/memory/tape.h"
#include "runtimes/pytorch/torch/tensor/recycled.h"
#include "runtimes/pytorch/torch/tensor/ref.h"
#include "runtimes/pytorch/torch/tensor/scalar_type.h"

namespace vramfit::pytorch {

class Context;
class Node;
class Tensor;

/// Sizes or strides of at most six dimensions; more are refused.
class Dims {
 public:
  static constexpr int kMax = 6;
  Dims() = default;
  Dims(std::initializer_list<std::int64_t> values);

  int rank() const { return rank_; }
  std::int64_t operator[](int i) const { return values_[index(i)]; }
  std::int64_t& operator[](int i) { return values_[index(i)]; }
  void push_back(std::int64_t value) {
    if (rank_ == kMax) refuse();
    values_[static_cast<std::size_t>(rank_++)] = value;
  }
  Dims with(int dim, std::int64_t value) const;
  std::int64_t product() const;
  friend bool operator==(const Dims& a, const Dims& b) {
    return a.rank_ == b.rank_ && std::equal(a.begin(), a.end(), b.begin());
  }
  friend bool operator!=(const Dims& a, const Dims& b) { return !(a == b); }

 private:
  /// Negative dimensions count from the end.
  std::size_t index(int i) const { return static_cast<std::size_t>(i < 0 ? i + rank_ : i); }
  [[noreturn]] static void refuse();
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return begin() + rank_; }
  std::array<std::int64_t, kMax> values_{};
  int rank_ = 0;
};

/// Strides of a row-major tensor.
Dims contiguous_strides(const Dims& sizes);

/// Memory that tensors share; freed with the last of them. On the meta device there is none, nor
/// while it is resized to none.
struct Storage : Recycled<Storage> {
  Storage(Context& c, Category k, std::uint64_t size);
  explicit Storage(Context& c) : context(c) {}  ///< on the meta device
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  /// What it holds is known to be something else now.
  void relabel(Category to);

  /// UntypedStorage.resize_: without memory, while every view of it stays, and with it again.
  void free_memory();
  void allocate_memory(std::uint64_t size);

  int references = 0;
  Category category = Category::Parameters;
  Context& context;
  std::uint64_t bytes = 0;             ///< as asked for
  std::optional<Tape::Origin> origin;  ///< none: on the meta device, or of no bytes
};

/// What a tensor is: memory, how it is looked at, and its place in autograd's graph.
struct TensorImpl : Recycled<TensorImpl> {
  TensorImpl(Ref<Storage> memory, const Dims& size, const Dims& stride, ScalarType t);
  ~TensorImpl();
  TensorImpl(const TensorImpl&) = delete;
  TensorImpl& operator=(const TensorImpl&) = delete;

  /// A view whose base got another history since its own was made.
  bool is_stale_view() const { return base && seen != base->rebased; }

  int references = 0;
  ScalarType type;
  bool requires_grad = false;  ///< a leaf's own flag
  bool is_view = false;        ///< of a base, which PyTorch keeps alive with the view
  bool is_whole = false;       ///< a gradient of all of a parameter that is a part here (DTensor)
  int output_index = 0;        ///< which of grad_fn's outputs it is
  Ref<Storage> storage;
  Dims sizes;
  Dims strides;
  Ref<Node> grad_fn;
  Ref<TensorImpl> base;  ///< of a view: what an op in place on it changes as well
  int rebased = 0;       ///< how often a base's history was changed by its views
  int seen = 0;          ///< how often it had been when a view's grad_fn was made
  Ref<TensorImpl> grad;
  Node* accumulator = nullptr;  ///< a leaf's AccumulateGrad while a graph needs it
};

/// A handle to a TensorImpl, as at::Tensor is one.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

  bool defined() const { return static_cast<bool>(impl_); }
  void reset() { impl_.reset(); }
  TensorImpl* impl() const { return impl_.get(); }
  const Ref<TensorImpl>& ref() const { return impl_; }

  const Dims& sizes() const { return impl_->sizes; }
  const Dims& strides() const { return impl_->strides; }
  std::int64_t size(int dim) const { return impl_->sizes[dim]; }
  int rank() const { return impl_->sizes.rank(); }
  std::int64_t numel() const { return impl_->sizes.product(); }
  ScalarType type() const { return impl_->type; }
  Context& context() const { return impl_->storage->context; }
  /// The layer that made it, if one did.
  int layer() const { return is_meta() ? kNoLayer : impl_->storage->origin->layer; }

  bool is_meta() const { return !impl_->storage->origin; }
  bool requires_grad() const {
    return impl_->requires_grad || static_cast<bool>(impl_->grad_fn) || impl_->is_stale_view();
  }
  bool is_contiguous() const;
  bool is_non_overlapping_and_dense() const;
  /// No one else holds the tensor or its memory, a view's base included.
  bool is_sole_owner() const {
    return impl_->references == 1 && impl_->storage->references == 1 && !impl_->is_view;
  }

  /// The same memory and view outside of any graph.
  Tensor detach() const;

 private:
  Ref<TensorImpl> impl_;
};

/// at::empty and at::empty_strided. Dense, in the order that `strides` have.
Tensor empty(Context& context, const Dims& sizes, ScalarType type,
             Category category = Category::Activations);
Tensor empty_strided(Context& context, const Dims& sizes, const Dims& strides, ScalarType type,
                     Category category = Category::Activations);

/// The same on the meta device: a shape without memory.
Tensor empty_meta(Context& context, const Dims& sizes, ScalarType type);

/// A view of `base`'s memory, without autograd.
Tensor as_strided(const Tensor& base, const Dims& sizes, const Dims& strides);

}  // namespace vramfit::pytorch
