#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

#include "standin/kernels/fatbin.h"

namespace vramfit::standin {

/// A kernel as a program registers it.
struct Kernel {
  /// What a card loads with the first of them: a library's code, what a failed assertion needs.
  enum class Group : std::uint8_t { Other, Asserts, Attention, BackwardAttention };

  const void* module = nullptr;  ///< its fatbin
  const char* name = "";         ///< mangled
  Group group = Group::Other;
};

/// The kernels of a process, by the host functions that launch them.
class Kernels {
 public:
  void add(const void* function, const void* module, const char* name);
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
