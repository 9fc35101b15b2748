#include "standin/kernels/kernels.h"

#include <string_view>

namespace vramfit::standin {

namespace {

/// By parts of names, of PyTorch's kernels and of flash attention's.
Kernel::Group group_of(std::string_view name) {
  const auto has = [name](std::string_view part) { return name.find(part) != name.npos; };
  if (has("flash_fwd")) return Kernel::Group::Attention;
  if (has("flash_bwd")) return Kernel::Group::BackwardAttention;
  for (const std::string_view part : {"reduce_kernel", "ndex", "gather", "nll_loss"}) {
    if (has(part)) return Kernel::Group::Asserts;
  }
  return Kernel::Group::Other;
}

}  // namespace

void Kernels::add(const void* function, const void* module, const char* name) {
  kernels_.emplace(function, Kernel{module, name, group_of(name)});
}

const Kernel* Kernels::find(const void* function) const {
  const auto found = kernels_.find(function);
  return found == kernels_.end() ? nullptr : &found->second;
}

int Kernels::code_of(const Kernel& kernel, int sm) {
  const auto found = codes_.find(kernel.module);
  if (found != codes_.end()) return found->second;
  return codes_[kernel.module] = code_for(read_fatbin(kernel.module), sm);
}

Kernels& kernels() {
  static Kernels* the = new Kernels;  // registered from others' constructors
  return *the;
}

}  // namespace vramfit::standin
