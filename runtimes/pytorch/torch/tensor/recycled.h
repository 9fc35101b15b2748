#pragma once

#include <cstddef>
#include <new>

namespace vramfit::pytorch {

/// Base of a T whose memory, once freed, is kept for the next T: a step makes and drops a hundred
/// thousand of them. Each thread keeps its own.
template <typename T>
class Recycled {
 public:
  static void* operator new(std::size_t) { return kept().take(); }
  static void operator delete(void* object) noexcept { kept().give(object); }

 private:
  /// Linked through the freed objects themselves.
  class FreeList {
   public:
    ~FreeList() {
      while (first_ != nullptr) ::operator delete(take());
    }
    void* take() {
      if (first_ == nullptr) return ::operator new(sizeof(T));
      Link* object = first_;
      first_ = object->next;
      return object;
    }
    void give(void* object) noexcept { first_ = new (object) Link{first_}; }

   private:
    struct Link {
      Link* next;
    };
    Link* first_ = nullptr;
  };

  static FreeList& kept() {
    static thread_local FreeList list;
    return list;
  }
};

}  // namespace vramfit::pytorch
