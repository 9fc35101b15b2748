#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/ops/arch.h"

namespace vramfit {

/// A GPU of this machine, as its driver describes it.
struct MachineGpu {
  void* handle = nullptr;  ///< NVML's, good while the Nvml that gave it lives
  std::string name;        ///< "NVIDIA H200"
  Arch arch;
  std::uint64_t vram = 0;  ///< bytes, as nvidia-smi shows them: with what the driver reserves
  std::uint64_t used = 0;  ///< of it, by processes; 0 where the driver does not tell them apart
};

/// A process that has memory of a GPU.
struct GpuProcess {
  std::uint32_t pid;    ///< as the driver sees it: from within a container another number than ours
  std::uint64_t bytes;  ///< 0 where the driver does not tell
};

/// NVIDIA's management library: it takes no memory of a card, makes no context, and knows of other
/// processes. Part of the driver, loaded where it is there.
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
  unsigned gpu_count() const;

  /// Absent where there is no such GPU, or the driver does not say what it is. NVML's indices are
  /// not CUDA's, which CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER change: the bus id is.
  std::optional<MachineGpu> gpu(unsigned index) const;
  /// `pci_bus_id` as cudaDeviceGetPCIBusId spells it: "0000:19:00.0".
  std::optional<MachineGpu> gpu_at(const std::string& pci_bus_id) const;

  /// All that have memory of the GPU, this process included.
  std::vector<GpuProcess> processes(const MachineGpu& gpu) const;

  /// Bytes of data that the GPU has sent over all its NVLinks so far, of any process; absent where
  /// it has none or the driver does not count.
  std::optional<std::uint64_t> nvlink_sent(const MachineGpu& gpu) const;

 private:
  explicit Nvml(void* library) : library_(library) {}

  /// Calls a function of the library; false where it is missing or fails.
  template <typename... Arguments>
  bool call(const char* name, Arguments... arguments) const;

  std::optional<MachineGpu> described(void* handle) const;
  void add_processes(const char* list, void* handle, std::vector<GpuProcess>& to) const;

  void* library_;
};

}  // namespace vramfit
