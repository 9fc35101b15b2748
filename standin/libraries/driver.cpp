#include <cstdio>
#include <cstring>

#include "standin/calls/shells.h"
#include "standin/calls/unanswered.h"
#include "standin/libraries/cuda.h"
#include "standin/libraries/tables.h"
#include "standin/machine.h"

// The driver's devices, contexts and errors.
namespace vramfit::standin {
namespace {

void* const kContext = pointer_to(0x2000);

Result cu_init(unsigned /*flags*/) { return Locked()->visible().empty() ? kNoDevice : kSuccess; }
Result cu_driver_get_version(int* version) {
  *version = Locked()->facts.driver_version;
  return kSuccess;
}
Result cu_device_get_count(int* count) {
  *count = static_cast<int>(Locked()->visible().size());
  return kSuccess;
}
Result cu_device_get(int* device, int ordinal) {
  if (!Locked()->has(ordinal)) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}
Result cu_device_get_name(char* name, int bytes, int /*device*/) {
  std::strncpy(name, Locked()->facts.title.c_str(), static_cast<std::size_t>(bytes));
  return kSuccess;
}
Result cu_device_get_uuid(char* uuid, int device) {
  std::memset(uuid, 0, 16);
  uuid[0] = static_cast<char>(Locked()->gpu(device).number + 1);
  return kSuccess;
}
Result cu_device_total_mem(std::size_t* bytes, int /*device*/) {
  *bytes = Locked()->facts.total;
  return kSuccess;
}
Result cu_device_get_attribute(int* value, int attribute, int device) {
  const Locked machine;
  *value = machine->facts.attribute(attribute) +
           (attribute == kPciDevice ? machine->gpu(device).number : 0);
  return kSuccess;
}
Result cu_device_get_compute_capability(int* major, int* minor, int /*device*/) {
  const Locked machine;
  *major = machine->facts.major();
  *minor = machine->facts.minor();
  return kSuccess;
}

/// One context a GPU: its number behind kContext.
void* context_of(int device) { return static_cast<char*>(kContext) + device; }
int device_of(void* context) {
  const auto offset = static_cast<char*>(context) - static_cast<char*>(kContext);
  return static_cast<int>(offset);
}

Result cu_ctx_get_current(void** context) {
  const Locked machine;
  *context = machine->device().context ? context_of(Machine::current()) : nullptr;
  return kSuccess;
}
Result cu_ctx_set_current(void* context) {
  const Locked machine;
  if (!context) return kSuccess;
  Machine::current() = device_of(context);
  machine->active();
  return kSuccess;
}
Result cu_ctx_pop_current(void** context) {
  if (context) *context = context_of(Machine::current());
  return kSuccess;
}
Result cu_ctx_get_device(int* device) {
  *device = Machine::current();
  return kSuccess;
}
Result cu_ctx_synchronize() {
  Locked()->streams.synchronize();
  return kSuccess;
}
Result cu_primary_get_state(int device, unsigned* flags, int* active) {
  const Locked machine;
  *flags = 0;
  *active = machine->gpu(device).context ? 1 : 0;
  return kSuccess;
}
Result cu_primary_retain(void** context, int device) {
  const Locked machine;
  const int before = Machine::current();
  Machine::current() = device;
  machine->active();
  Machine::current() = before;
  *context = context_of(device);
  return kSuccess;
}
Result cu_ctx_get_limit(std::size_t* value, int /*limit*/) {
  *value = 1024;
  return kSuccess;
}

Result cu_get_error_string(Result result, const char** text) {
  *text = error_text(result);
  return kSuccess;
}
Result cu_get_error_name(Result result, const char** text) {
  *text = error_name(result);
  return kSuccess;
}
Result cu_get_proc_address(const char* name, void** function, int /*version*/,
                           unsigned long long /*flags*/, int* status) {
  *function = function_named("libcuda.so.1", name);
  if (status) *status = *function ? 0 : 1;
  return *function ? kSuccess : kNotFound;
}
/// A way past the driver's interface, which libraries with a CUDA runtime of their own inside take.
/// What is behind it, nobody documents.
Result cu_get_export_table(const void** table, const void* /*uuid*/) {
  const void* caller = __builtin_return_address(0);
  if (count_unknown("libcuda.so.1", "cuGetExportTable", caller)) {
    std::fprintf(stderr,
                 "vramfit: %s has a CUDA runtime of its own inside, which finds no GPU here: one "
                 "that is linked against libcudart.so (nvcc -cudart shared) does\n",
                 file_around(caller).c_str());
  }
  *table = nullptr;
  return kNotFound;
}
Result cu_stream_synchronize(void* /*stream*/) {
  Locked()->streams.synchronize();
  return kSuccess;
}

}  // namespace

std::span<const Answer> driver_answers() {
  static const Answer answers[] = {
      answer("cuInit", cu_init),
      answer("cuDriverGetVersion", cu_driver_get_version),
      answer("cuDeviceGetCount", cu_device_get_count),
      answer("cuDeviceGet", cu_device_get),
      answer("cuDeviceGetName", cu_device_get_name),
      answer("cuDeviceGetUuid", cu_device_get_uuid),
      answer("cuDeviceGetUuid_v2", cu_device_get_uuid),
      answer("cuDeviceTotalMem_v2", cu_device_total_mem),
      answer("cuDeviceGetAttribute", cu_device_get_attribute),
      answer("cuDeviceComputeCapability", cu_device_get_compute_capability),
      answer("cuCtxGetCurrent", cu_ctx_get_current),
      answer("cuCtxSetCurrent", cu_ctx_set_current),
      answer("cuCtxPushCurrent", cu_ctx_set_current),
      answer("cuCtxPushCurrent_v2", cu_ctx_set_current),
      answer("cuCtxPopCurrent", cu_ctx_pop_current),
      answer("cuCtxPopCurrent_v2", cu_ctx_pop_current),
      answer("cuCtxGetDevice", cu_ctx_get_device),
      answer("cuCtxSynchronize", cu_ctx_synchronize),
      answer("cuCtxGetLimit", cu_ctx_get_limit),
      answer("cuDevicePrimaryCtxGetState", cu_primary_get_state),
      answer("cuDevicePrimaryCtxRetain", cu_primary_retain),
      answer("cuGetErrorString", cu_get_error_string),
      answer("cuGetErrorName", cu_get_error_name),
      answer("cuGetProcAddress", cu_get_proc_address),
      answer("cuGetProcAddress_v2", cu_get_proc_address),
      answer("cuGetExportTable", cu_get_export_table),
      answer("cuStreamSynchronize", cu_stream_synchronize),
  };
  return answers;
}

std::span<const std::string_view> driver_silent() {
  static constexpr std::string_view kNames[] = {
      "cuCtxSetCacheConfig",
      "cuCtxSetLimit",
      "cuDevicePrimaryCtxRelease_v2",
      "cuDevicePrimaryCtxReset",
      "cuFuncSetAttribute",
      "cuFuncSetCacheConfig",
      "cuLogsRegisterCallback",
      "cuLogsUnregisterCallback",
      "cuMemAddressFree",
      "cuMemSetAccess",
      "cuModuleUnload",
      "cuProfilerStart",
      "cuProfilerStop",
      "cuStreamWriteValue32",
      "cuStreamWriteValue32_v2",
      "cuTensorMapEncodeTiled",
  };
  return kNames;
}

}  // namespace vramfit::standin
