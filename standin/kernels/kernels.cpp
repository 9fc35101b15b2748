#include "standin/kernels/kernels.h"

#include <string_view>

namespace vramfit::standin {

namespace {

/// By parts of names, of PyTorch's kernels and of flash attention's. Kernels that cast what they
/// load assert that it is of a known type (c10/core/DynamicCast.h): "LoadWithCast", and
/// gpu_kernel_impl with its argument list, which gpu_kernel_impl_nocast has not there. arange's,
/// which are called "with_index", assert nothing; "Index" with a capital is files' alone.
Kernel::Group group_of(std::string_view name) {
  const auto has = [name](std::string_view part) { return name.find(part) != name.npos; };
  if (has("flash_fwd")) return Kernel::Group::Attention;
  if (has("flash_bwd")) return Kernel::Group::BackwardAttention;
  if (has("with_index")) return Kernel::Group::Other;
  for (const std::string_view part :
       {"reduce_kernel", "index", "gather", "nll_loss", "LoadWithCast", "gpu_kernel_implI"}) {
    if (has(part)) return Kernel::Group::Asserts;
  }
  return Kernel::Group::Other;
}

}  // namespace

void Kernels::add(const void* function, const void* module, const char* name) {
  kernels_.emplace(function, Kernel{module, name, group_of(name)});
}

Kernel* Kernels::find(const void* function) {
  const auto found = kernels_.find(function);
  return found == kernels_.end() ? nullptr : &found->second;
}

int Kernels::code_of(const Kernel& kernel, int sm) {
  const auto [found, is_new] = codes_.try_emplace(kernel.module, sm);
  if (!is_new) return found->second;
  const FatbinCode code = read_fatbin(kernel.module);
  const bool is_known = !code.binaries.empty() || !code.ptx.empty();
  if (is_known) found->second = code_for(code, sm);
  return found->second;
}

void Kernels::count(const char* name) {
  ++kernels_.try_emplace(name, Kernel{.name = name}).first->second.launches;
}

Kernels& kernels() {
  static Kernels* the = new Kernels;  // registered from others' constructors
  return *the;
}

}  // namespace vramfit::standin
