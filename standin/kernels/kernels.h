#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

#include "standin/kernels/fatbin.h"

namespace vramfit::standin {

/// A kernel as a program registers it.
struct Kernel {
  const void* module = nullptr;  ///< its fatbin
  const char* name = "";         ///< mangled
  /// Which code of a library's it is part of, of which a card loads all with the first.
  enum class Group : std::uint8_t { Other, Attention, BackwardAttention };
  Group group() const;
};

/// The kernels of a process, by the host functions that launch them.
class Kernels {
 public:
  void add(const void* function, Kernel kernel) { kernels_.emplace(function, kernel); }
  /// Null where nothing of the kind was registered.
  const Kernel* find(const void* function) const;
  /// The architecture of the code that a card of `sm` runs of the kernel's module; 0 for none.
  int code_of(const Kernel& kernel, int sm);

 private:
  std::unordered_map<const void*, Kernel> kernels_;
  std::unordered_map<const void*, int> codes_;  ///< by module
};

Kernels& kernels();

}  // namespace vramfit::standin
