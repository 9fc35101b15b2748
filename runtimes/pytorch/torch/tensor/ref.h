#pragma once

#include <utility>

namespace vramfit::pytorch {

[[noreturn]] void refuse_none();

/// A counted reference to a T, which holds its own count as `references`; c10::intrusive_ptr. When
/// memory is freed follows from such counts, here as in PyTorch. One thread.
template <typename T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) { retain(); }
  Ref(const Ref& other) : object_(other.object_) { retain(); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { reset(); }

  void reset() noexcept {
    T* object = std::exchange(object_, nullptr);
    if (object != nullptr && --object->references == 0) delete object;
  }
  T* get() const { return object_; }
  /// Throws BadInput where there is none, as a tape may have it.
  T* operator->() const {
    if (object_ == nullptr) refuse_none();
    return object_;
  }
  T& operator*() const { return *operator->(); }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

 private:
  void retain() const {
    if (object_ != nullptr) ++object_->references;
  }
  T* object_ = nullptr;
};

}  // namespace vramfit::pytorch
