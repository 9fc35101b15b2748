#include "kernels/cuda/gpu/nvml.h"

#include <dlfcn.h>

#include <array>
#include <utility>

namespace vramfit {
namespace {

// Declared here, as some toolkits come without nvml.h (NVML API reference, R550 and later).
using Device = void*;
constexpr int kSuccess = 0;

struct MemoryV2 {
  unsigned version = sizeof(MemoryV2) | (2U << 24);
  unsigned long long total = 0;
  unsigned long long reserved = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

/// nvmlProcessInfo_t of the functions with suffix _v3.
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

constexpr unsigned long long kUnknown = ~0ULL;

template <typename Function>
Function function(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

Device device_of(void* library, const std::string& pci_bus_id) {
  const auto find =
      function<int (*)(const char*, Device*)>(library, "nvmlDeviceGetHandleByPciBusId_v2");
  Device device = nullptr;
  if (find == nullptr || find(pci_bus_id.c_str(), &device) != kSuccess) return nullptr;
  return device;
}

void add_processes(void* library, const char* name, Device device, std::vector<GpuProcess>& to) {
  const auto list = function<int (*)(Device, unsigned*, ProcessInfo*)>(library, name);
  std::array<ProcessInfo, 256> found{};
  unsigned count = found.size();
  if (list == nullptr || list(device, &count, found.data()) != kSuccess) return;
  for (unsigned i = 0; i < count; ++i) {
    to.push_back({found[i].pid, found[i].used_bytes == kUnknown ? 0 : found[i].used_bytes});
  }
}

}  // namespace

std::optional<Nvml> Nvml::load() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  const auto initialize = function<int (*)()>(library, "nvmlInit_v2");
  if (initialize == nullptr || initialize() != kSuccess) {
    dlclose(library);
    return std::nullopt;
  }
  return Nvml(library);
}

Nvml::Nvml(Nvml&& other) noexcept : library_(std::exchange(other.library_, nullptr)) {}

Nvml::~Nvml() {
  if (library_ == nullptr) return;
  const auto shut_down = function<int (*)()>(library_, "nvmlShutdown");
  if (shut_down != nullptr) shut_down();
  dlclose(library_);
}

std::string Nvml::driver_version() const {
  const auto get = function<int (*)(char*, unsigned)>(library_, "nvmlSystemGetDriverVersion");
  std::array<char, 80> version{};
  if (get == nullptr || get(version.data(), version.size()) != kSuccess) return {};
  return version.data();
}

std::optional<CardMemory> Nvml::memory(const std::string& pci_bus_id) const {
  const auto get = function<int (*)(Device, MemoryV2*)>(library_, "nvmlDeviceGetMemoryInfo_v2");
  const Device device = device_of(library_, pci_bus_id);
  MemoryV2 memory;
  if (get == nullptr || device == nullptr || get(device, &memory) != kSuccess) return std::nullopt;
  return CardMemory{memory.total, memory.reserved, memory.used};
}

std::vector<GpuProcess> Nvml::processes(const std::string& pci_bus_id) const {
  std::vector<GpuProcess> processes;
  const Device device = device_of(library_, pci_bus_id);
  if (device == nullptr) return processes;
  add_processes(library_, "nvmlDeviceGetComputeRunningProcesses_v3", device, processes);
  add_processes(library_, "nvmlDeviceGetGraphicsRunningProcesses_v3", device, processes);
  return processes;
}

}  // namespace vramfit
