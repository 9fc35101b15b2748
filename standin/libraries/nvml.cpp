#include <cstdio>
#include <cstring>
#include <string>

#include "standin/card/visible.h"
#include "standin/libraries/cuda.h"
#include "standin/libraries/tables.h"
#include "standin/machine.h"

// NVML, which nvidia-smi and monitors ask: the same cards and the same memory as CUDA tells.
namespace vramfit::standin {
namespace {

constexpr Result kNvmlInvalidArgument = 2;
constexpr Result kNvmlNotSupported = 3;

using Handle = Device*;

Result success() { return kSuccess; }
Result not_supported() { return kNvmlNotSupported; }

Result text(char* to, unsigned bytes, const std::string& from) {
  std::snprintf(to, bytes, "%s", from.c_str());
  return kSuccess;
}
Result driver_version(char* to, unsigned bytes) {
  return text(to, bytes, Locked()->facts.driver_name);
}
Result nvml_version(char* to, unsigned bytes) {
  return text(to, bytes, "13." + Locked()->facts.driver_name);
}
Result cuda_driver_version(int* version) {
  *version = Locked()->facts.driver_version;
  return kSuccess;
}
Result device_count(unsigned* count) {
  *count = static_cast<unsigned>(Locked()->devices.size());
  return kSuccess;
}
Result handle_by_index(unsigned index, Handle* handle) {
  const Locked machine;
  if (index >= machine->devices.size()) return kNvmlInvalidArgument;
  *handle = &machine->devices[index];
  return kSuccess;
}
/// "GPU-01000000-…", or "00000000:00:06.0": one of several by its last figures.
Result handle_by_text(const char* id, Handle* handle) {
  const Locked machine;
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  if (std::sscanf(id, "GPU-%2x", &device) == 1) return handle_by_index(device - 1, handle);
  if (std::sscanf(id, "%x:%x:%x", &domain, &bus, &device) != 3) return kNvmlInvalidArgument;
  return handle_by_index(device - static_cast<unsigned>(machine->facts.attribute(kPciDevice)),
                         handle);
}
Result get_index(Handle handle, unsigned* index) {
  *index = static_cast<unsigned>(handle->number);
  return kSuccess;
}
Result get_name(Handle /*handle*/, char* to, unsigned bytes) {
  return text(to, bytes, Locked()->facts.title);
}
Result get_uuid(Handle handle, char* to, unsigned bytes) {
  return text(to, bytes, uuid_text(handle->number));
}
Result get_capability(Handle /*handle*/, int* major, int* minor) {
  const Locked machine;
  *major = machine->facts.major();
  *minor = machine->facts.minor();
  return kSuccess;
}

/// nvmlMemory_t counts as used what the driver keeps; its second version tells it apart.
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};
Result memory_info(Handle handle, Memory* info) {
  const Locked machine;
  info->total = machine->facts.listed_total;
  info->free = handle->memory.free_bytes();
  info->used = info->total - info->free;
  return kSuccess;
}
Result memory_info_v2(Handle handle, MemoryV2* info) {
  const Locked machine;
  info->total = machine->facts.listed_total;
  info->reserved = machine->facts.listed_total - machine->facts.total;
  info->free = handle->memory.free_bytes();
  info->used = info->total - info->reserved - info->free;
  return kSuccess;
}
/// nvmlPciInfo_t.
struct PciInfo {
  char legacy_id[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  char id[32];
};
Result pci_info(Handle handle, PciInfo* info) {
  const Locked machine;
  *info = {};
  info->bus = static_cast<unsigned>(machine->facts.attribute(kPciBus));
  info->device = static_cast<unsigned>(machine->facts.attribute(kPciDevice) + handle->number);
  std::snprintf(info->id, sizeof info->id, "00000000:%02X:%02X.0", info->bus, info->device);
  std::snprintf(info->legacy_id, sizeof info->legacy_id, "0000:%02X:%02X.0", info->bus,
                info->device);
  return kSuccess;
}
Result zero_count(Handle /*handle*/, unsigned* count, void* /*items*/) {
  *count = 0;
  return kSuccess;
}
/// nvmlUtilization_t: of a GPU that does nothing.
Result utilization(Handle /*handle*/, unsigned* rates) {
  rates[0] = rates[1] = 0;
  return kSuccess;
}
/// Each GPU reaches each other, by NVLink too.
Result p2p_status(Handle /*one*/, Handle /*other*/, unsigned /*way*/, unsigned* status) {
  *status = 0;  // NVML_P2P_STATUS_OK
  return kSuccess;
}
/// nvmlGpuFabricInfoV_t: no fabric beyond the machine, NVML_GPU_FABRIC_STATE_NOT_SUPPORTED.
struct FabricInfo {
  unsigned version;
  unsigned char cluster[16];
  Result status;
  unsigned clique;
  unsigned char state;
};
Result fabric_info(Handle /*handle*/, FabricInfo* info) {
  const unsigned version = info->version;
  *info = {};
  info->version = version;
  return kSuccess;
}
const char* error_string(Result) { return "NVML, stood in for by vramfit"; }

}  // namespace

std::span<const Answer> nvml_answers() {
  static const Answer answers[] = {
      answer("nvmlInit", success),
      answer("nvmlInit_v2", success),
      answer("nvmlInitWithFlags", success),
      answer("nvmlShutdown", success),
      answer("nvmlErrorString", error_string),
      answer("nvmlSystemGetDriverVersion", driver_version),
      answer("nvmlSystemGetNVMLVersion", nvml_version),
      answer("nvmlSystemGetCudaDriverVersion", cuda_driver_version),
      answer("nvmlSystemGetCudaDriverVersion_v2", cuda_driver_version),
      answer("nvmlDeviceGetCount", device_count),
      answer("nvmlDeviceGetCount_v2", device_count),
      answer("nvmlDeviceGetHandleByIndex", handle_by_index),
      answer("nvmlDeviceGetHandleByIndex_v2", handle_by_index),
      answer("nvmlDeviceGetHandleByUUID", handle_by_text),
      answer("nvmlDeviceGetHandleByPciBusId", handle_by_text),
      answer("nvmlDeviceGetHandleByPciBusId_v2", handle_by_text),
      answer("nvmlDeviceGetIndex", get_index),
      answer("nvmlDeviceGetName", get_name),
      answer("nvmlDeviceGetUUID", get_uuid),
      answer("nvmlDeviceGetCudaComputeCapability", get_capability),
      answer("nvmlDeviceGetMemoryInfo", memory_info),
      answer("nvmlDeviceGetMemoryInfo_v2", memory_info_v2),
      answer("nvmlDeviceGetPciInfo", pci_info),
      answer("nvmlDeviceGetPciInfo_v2", pci_info),
      answer("nvmlDeviceGetPciInfo_v3", pci_info),
      answer("nvmlDeviceGetComputeRunningProcesses", zero_count),
      answer("nvmlDeviceGetComputeRunningProcesses_v2", zero_count),
      answer("nvmlDeviceGetComputeRunningProcesses_v3", zero_count),
      answer("nvmlDeviceGetGraphicsRunningProcesses_v3", zero_count),
      answer("nvmlDeviceGetUtilizationRates", utilization),
      answer("nvmlDeviceGetTemperature", not_supported),
      answer("nvmlDeviceGetPowerUsage", not_supported),
      answer("nvmlDeviceGetEnforcedPowerLimit", not_supported),
      answer("nvmlDeviceGetTotalEnergyConsumption", not_supported),
      answer("nvmlDeviceGetClockInfo", not_supported),
      answer("nvmlDeviceGetMaxClockInfo", not_supported),
      answer("nvmlDeviceGetNvLinkState", not_supported),
      answer("nvmlDeviceGetNvLinkRemoteDeviceType", not_supported),
      answer("nvmlDeviceGetNvLinkRemotePciInfo_v2", not_supported),
      answer("nvmlDeviceGetGpuFabricInfoV", fabric_info),
      answer("nvmlDeviceGetP2PStatus", p2p_status),
      answer("nvmlDeviceGetMigMode", not_supported),
  };
  return answers;
}

}  // namespace vramfit::standin
