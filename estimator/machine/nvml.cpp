#include "estimator/machine/nvml.h"

#include <dlfcn.h>

#include <array>
#include <utility>

namespace vramfit {
namespace {

// Declared here, as nvml.h is often not installed (NVML API reference, R550 and later).
constexpr int kSuccess = 0;
constexpr unsigned long long kUnknown = ~0ULL;

struct MemoryInfo {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

/// nvmlMemory_v2_t, which tells what the driver reserves from what processes use.
struct MemoryInfo2 {
  unsigned version = sizeof(MemoryInfo2) | 2U << 24U;
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

/// nvmlFieldValue_t.
struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency;
  int type;
  int status;
  unsigned long long value;
};

constexpr unsigned kNvlinkSentKib = 138;  // NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, of a link
constexpr unsigned kMostNvlinks = 18;

}  // namespace

template <typename... Arguments>
bool Nvml::call(const char* name, Arguments... arguments) const {
  void* symbol = dlsym(library_, name);
  return symbol != nullptr &&
         reinterpret_cast<int (*)(Arguments...)>(symbol)(arguments...) == kSuccess;
}

std::optional<Nvml> Nvml::load() {
  void* library = nullptr;
  // WSL2 has the driver's libraries in a folder of its own, which a container's linker may not
  // know.
  for (const char* file : {"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"}) {
    if (library == nullptr) library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) return std::nullopt;
  Nvml nvml(library);
  if (!nvml.call("nvmlInit_v2")) return std::nullopt;
  return nvml;
}

Nvml::Nvml(Nvml&& other) noexcept : library_(std::exchange(other.library_, nullptr)) {}

Nvml::~Nvml() {
  if (library_ == nullptr) return;
  // The library stays loaded: what it allocated as it was loaded would be lost with its pointers.
  call("nvmlShutdown");  // fails without harm where nvmlInit_v2 did
}

std::string Nvml::driver_version() const {
  std::array<char, 81> version{};
  if (!call("nvmlSystemGetDriverVersion", version.data(),
            static_cast<unsigned>(version.size() - 1))) {
    return {};
  }
  return version.data();
}

unsigned Nvml::gpu_count() const {
  unsigned count = 0;
  return call("nvmlDeviceGetCount_v2", &count) ? count : 0;
}

std::optional<MachineGpu> Nvml::gpu(unsigned index) const {
  void* handle = nullptr;
  if (!call("nvmlDeviceGetHandleByIndex_v2", index, &handle)) return std::nullopt;
  return described(handle);
}

std::optional<MachineGpu> Nvml::gpu_at(const std::string& pci_bus_id) const {
  void* handle = nullptr;
  if (!call("nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.c_str(), &handle)) return std::nullopt;
  return described(handle);
}

std::optional<MachineGpu> Nvml::described(void* handle) const {
  std::array<char, 97> name{};
  MemoryInfo memory{};
  int major = 0;
  int minor = 0;
  const bool answered =
      call("nvmlDeviceGetName", handle, name.data(), static_cast<unsigned>(name.size() - 1)) &&
      call("nvmlDeviceGetMemoryInfo", handle, &memory) &&
      call("nvmlDeviceGetCudaComputeCapability", handle, &major, &minor);
  if (!answered || memory.total == 0) return std::nullopt;
  MemoryInfo2 use;
  if (!call("nvmlDeviceGetMemoryInfo_v2", handle, &use)) use.used = 0;
  return MachineGpu{handle, name.data(), Arch{10 * major + minor}, memory.total, use.used};
}

std::vector<GpuProcess> Nvml::processes(const MachineGpu& gpu) const {
  std::vector<GpuProcess> processes;
  add_processes("nvmlDeviceGetComputeRunningProcesses_v3", gpu.handle, processes);
  add_processes("nvmlDeviceGetGraphicsRunningProcesses_v3", gpu.handle, processes);
  return processes;
}

std::optional<std::uint64_t> Nvml::nvlink_sent(const MachineGpu& gpu) const {
  std::array<FieldValue, kMostNvlinks> links{};
  for (unsigned link = 0; link < kMostNvlinks; ++link) {
    links[link].field = kNvlinkSentKib;
    links[link].scope = link;
  }
  if (!call("nvmlDeviceGetFieldValues", gpu.handle, static_cast<int>(links.size()), links.data())) {
    return std::nullopt;
  }
  std::optional<std::uint64_t> sent;
  for (const FieldValue& link : links) {
    if (link.status == kSuccess) sent = sent.value_or(0) + link.value * 1024;
  }
  return sent;
}

void Nvml::add_processes(const char* list, void* handle, std::vector<GpuProcess>& to) const {
  std::array<ProcessInfo, 256> found{};
  unsigned count = found.size();
  if (!call(list, handle, &count, found.data())) return;
  for (unsigned i = 0; i < count; ++i) {
    to.push_back({found[i].pid, found[i].used_bytes == kUnknown ? 0 : found[i].used_bytes});
  }
}

}  // namespace vramfit
