#include "estimator/fit/this_gpu.h"

#include <dlfcn.h>

#include <array>
#include <string>

namespace vramfit::fit {
namespace {

// What we use of NVML, declared as its reference has it, since its header is often not installed.
using NvmlReturn = int;
constexpr NvmlReturn kSuccess = 0;
using NvmlDevice = void*;
struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

class Library {
 public:
  explicit Library(const char* name) : handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {}
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  /// Calls a function of the library; false where library or function is missing, or it fails.
  template <typename... Arguments>
  bool call(const char* name, Arguments... arguments) const {
    void* symbol = handle_ == nullptr ? nullptr : dlsym(handle_, name);
    if (symbol == nullptr) return false;
    return reinterpret_cast<NvmlReturn (*)(Arguments...)>(symbol)(arguments...) == kSuccess;
  }

 private:
  void* handle_;
};

std::optional<Budget> first_gpu(const Library& nvml) {
  NvmlDevice device = nullptr;
  std::array<char, 96> title{};
  NvmlMemory memory{};
  int major = 0;
  int minor = 0;
  const bool answered = nvml.call("nvmlDeviceGetHandleByIndex_v2", 0U, &device) &&
                        nvml.call("nvmlDeviceGetName", device, title.data(),
                                  static_cast<unsigned>(title.size() - 1)) &&
                        nvml.call("nvmlDeviceGetMemoryInfo", device, &memory) &&
                        nvml.call("nvmlDeviceGetCudaComputeCapability", device, &major, &minor);
  if (!answered || memory.total == 0) return std::nullopt;

  Budget budget = budget_of_gpu(title.data(), Arch{10 * major + minor}, memory.total);
  std::array<char, 81> driver{};
  std::string note = "this machine's GPU";
  unsigned count = 1;
  if (nvml.call("nvmlDeviceGetCount_v2", &count) && count > 1) {
    note = "the first of this machine's " + std::to_string(count) + " GPUs";
  }
  if (nvml.call("nvmlSystemGetDriverVersion", driver.data(),
                static_cast<unsigned>(driver.size() - 1))) {
    note += ", driver " + std::string(driver.data());
  }
  budget.notes.push_back(note);
  return budget;
}

}  // namespace

std::optional<Budget> this_gpu() {
  const Library nvml("libnvidia-ml.so.1");
  if (!nvml.call("nvmlInit_v2")) return std::nullopt;
  std::optional<Budget> gpu = first_gpu(nvml);
  nvml.call("nvmlShutdown");
  return gpu;
}

}  // namespace vramfit::fit
