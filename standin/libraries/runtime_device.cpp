#include <cstdio>
#include <cstring>
#include <string>

#include "standin/calls/shells.h"
#include "standin/calls/unanswered.h"
#include "standin/libraries/cuda.h"
#include "standin/libraries/tables.h"
#include "standin/machine.h"

// The CUDA runtime's devices: how many, which one, what they are.
namespace vramfit::standin {
namespace {

Result cuda_get_device_count(int* count) {
  const Locked machine;
  *count = static_cast<int>(machine->visible().size());
  return *count > 0 ? kSuccess : fail(kNoDevice);
}
Result cuda_get_device(int* device) {
  *device = Machine::current();
  return kSuccess;
}
Result cuda_set_device(int device) {
  const Locked machine;
  if (!machine->has(device)) return fail(kInvalidDevice);
  Machine::current() = device;
  machine->active();
  return kSuccess;
}
Result cuda_init_device(int device, unsigned /*device_flags*/, unsigned /*flags*/) {
  const int before = Machine::current();
  const Result result = cuda_set_device(device);
  Machine::current() = before;
  return result;
}
Result cuda_device_get_attribute(int* value, int attribute, int device) {
  const Locked machine;
  if (!machine->has(device)) return fail(kInvalidDevice);
  const int which = attribute == kPciDevice ? machine->gpu(device).number : 0;
  *value = machine->facts.attribute(attribute) + which;
  return kSuccess;
}
Result cuda_driver_get_version(int* version) {
  *version = Locked()->facts.driver_version;
  return kSuccess;
}
Result cuda_device_get_pci_bus_id(char* text, int bytes, int device) {
  const Locked machine;
  std::snprintf(
      text, static_cast<std::size_t>(bytes), "0000:%02x:%02x.0",
      static_cast<unsigned>(machine->facts.attribute(kPciBus)),
      static_cast<unsigned>(machine->facts.attribute(kPciDevice) + machine->gpu(device).number));
  return kSuccess;
}
Result cuda_device_can_access_peer(int* can, int /*device*/, int /*peer*/) {
  *can = 1;
  return kSuccess;
}

Result cuda_get_last_error() {
  const Result last = last_error();
  last_error() = kSuccess;
  return last;
}
Result cuda_peek_at_last_error() { return last_error(); }

/// The driver's function of that name, whichever version is asked for.
Result cuda_get_driver_entry_point(const char* name, void** function, unsigned long long /*flags*/,
                                   int* found) {
  *function = function_named("libcuda.so.1", name);
  if (found) *found = *function ? 0 : 1;  // cudaDriverEntryPointSuccess, …SymbolNotFound
  return kSuccess;
}
Result cuda_get_driver_entry_point_by_version(const char* name, void** function,
                                              unsigned /*version*/, unsigned long long flags,
                                              int* found) {
  return cuda_get_driver_entry_point(name, function, flags, found);
}

/// It would take all that the process has.
Result cuda_device_reset() {
  count_unknown("libcudart.so", "cudaDeviceReset", __builtin_return_address(0), true);
  return kSuccess;
}

}  // namespace

std::span<const Answer> runtime_device_answers() {
  static const Answer answers[] = {
      answer("cudaGetDeviceCount", cuda_get_device_count),
      answer("cudaGetDevice", cuda_get_device),
      answer("cudaSetDevice", cuda_set_device),
      answer("cudaInitDevice", cuda_init_device),
      answer("cudaDeviceReset", cuda_device_reset),
      answer("cudaDeviceGetAttribute", cuda_device_get_attribute),
      answer("cudaDriverGetVersion", cuda_driver_get_version),
      answer("cudaDeviceGetPCIBusId", cuda_device_get_pci_bus_id),
      answer("cudaDeviceCanAccessPeer", cuda_device_can_access_peer),
      answer("cudaGetLastError", cuda_get_last_error),
      answer("cudaPeekAtLastError", cuda_peek_at_last_error),
      answer("cudaGetErrorName", error_name),
      answer("cudaGetErrorString", error_text),
      answer("cudaGetDriverEntryPoint", cuda_get_driver_entry_point),
      answer("cudaGetDriverEntryPointByVersion", cuda_get_driver_entry_point_by_version),
  };
  return answers;
}

std::span<const std::string_view> runtime_silent() {
  static constexpr std::string_view kNames[] = {
      "__cudaRegisterFatBinaryEnd",
      "__cudaRegisterVar",
      "__cudaUnregisterFatBinary",
      "cudaCtxResetPersistingL2Cache",
      "cudaDeviceDisablePeerAccess",
      "cudaDeviceEnablePeerAccess",
      "cudaDeviceSetCacheConfig",
      "cudaDeviceSetLimit",
      "cudaFuncSetAttribute",
      "cudaFuncSetCacheConfig",
      "cudaGraphDebugDotPrint",
      "cudaGraphLaunch",
      "cudaGraphUpload",
      "cudaMemAdvise",
      "cudaMemPoolSetAccess",
      "cudaMemPoolSetAttribute",
      "cudaMemPoolTrimTo",
      "cudaMemPrefetchAsync",
      "cudaMemcpyToSymbol",
      "cudaMemcpyToSymbolAsync",
      "cudaProfilerStart",
      "cudaProfilerStop",
      "cudaSetDeviceFlags",
      "cudaStreamSetAttribute",
      "cudaThreadExchangeStreamCaptureMode",
  };
  return kNames;
}

}  // namespace vramfit::standin
