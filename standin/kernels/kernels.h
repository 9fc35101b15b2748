#pragma once

#include <cstdint>
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
  std::uint64_t launches = 0;
};

/// The kernels of a process, by the host functions that launch them, or by the driver's handles.
class Kernels {
 public:
  /// The name is not copied. A null module has code for every card.
  void add(const void* function, const void* module, const char* name);
  /// Null where nothing of the kind was registered.
  Kernel* find(const void* function);
  /// The architecture of the code that a card of `sm` runs of the kernel's module; 0 for none.
  int code_of(const Kernel& kernel, int sm);
  /// One launch more of what a library of NVIDIA's runs; by the address of a name of ours.
  void count(const char* name);

  const std::unordered_map<const void*, Kernel>& all() const { return kernels_; }

 private:
  std::unordered_map<const void*, Kernel> kernels_;
  std::unordered_map<const void*, int> codes_;  ///< by module
};

Kernels& kernels();

}  // namespace vramfit::standin
