#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vramfit {

/// A process that has memory of a GPU.
struct GpuProcess {
  std::uint32_t pid;    ///< as the driver sees it: from within a container another number than ours
  std::uint64_t bytes;  ///< 0 where the driver does not tell
};

/// A card's memory as nvidia-smi shows it.
struct CardMemory {
  std::uint64_t total;
  std::uint64_t reserved;  ///< by the driver
  std::uint64_t used;      ///< by processes and their contexts
};

/// NVIDIA's management library: it knows of other processes, and needs no context. Part of the
/// driver, loaded where it is there.
class Nvml {
 public:
  /// Absent where there is no driver.
  static std::optional<Nvml> load();
  ~Nvml();
  Nvml(Nvml&& other) noexcept;
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  Nvml& operator=(Nvml&&) = delete;

  /// "580.159.04"; empty where it does not say.
  std::string driver_version() const;

  /// `pci_bus_id` as cudaDeviceGetPCIBusId spells it. Absent or empty where it does not say.
  std::optional<CardMemory> memory(const std::string& pci_bus_id) const;
  std::vector<GpuProcess> processes(const std::string& pci_bus_id) const;

 private:
  explicit Nvml(void* library) : library_(library) {}
  void* library_;
};

}  // namespace vramfit
