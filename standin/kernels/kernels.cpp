#include "standin/kernels/kernels.h"

#include <string_view>

namespace vramfit::standin {

Kernel::Group Kernel::group() const {
  const std::string_view text = name;
  const auto has = [text](std::string_view part) { return text.find(part) != text.npos; };
  if (has("flash_fwd")) return Group::Attention;
  if (has("flash_bwd")) return Group::BackwardAttention;
  return Group::Other;
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
