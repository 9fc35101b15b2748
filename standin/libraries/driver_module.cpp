#include <algorithm>
#include <cstring>

#include "standin/kernels/kernels.h"
#include "standin/libraries/cuda.h"
#include "standin/libraries/loads.h"
#include "standin/libraries/tables.h"
#include "standin/machine.h"

// The driver's modules and launches, which Triton and code compiled at run time use.
namespace vramfit::standin {
namespace {

Result cu_module_load(void** module, const void* /*image*/) { return give_handle(module); }
Result cu_module_load_ex(void** module, const void* /*image*/, unsigned, int*, void**) {
  return give_handle(module);
}
Result cu_library_load(void** library, const void* /*code*/, int*, void**, unsigned, int*, void**,
                       unsigned) {
  return give_handle(library);
}
/// A handle, which stays with a copy of its name.
Result cu_get_function(void** function, void* /*module*/, const char* name) {
  const Locked machine;
  give_handle(function);
  kernels().add(*function, nullptr, ::strdup(name));
  return kSuccess;
}
Result cu_kernel_get_function(void** function, void* kernel) {
  *function = kernel;
  return kSuccess;
}
Result cu_get_global(std::uint64_t* address, std::size_t* bytes, void* /*module*/,
                     const char* /*name*/) {
  const Locked machine;
  if (address) *address = machine->active().memory.reserve_addresses(DeviceMemory::kPage, 0);
  if (bytes) *bytes = DeviceMemory::kPage;
  return kSuccess;
}

/// CUfunction_attribute: 0 threads a block, 1 static shared memory, 3 local memory, 4 registers.
Result cu_func_get_attribute(int* value, int attribute, void* /*function*/) {
  const Locked machine;
  *value = attribute == 0 ? machine->facts.attribute(kMaxThreadsPerBlock) : attribute == 4 ? 32 : 0;
  return kSuccess;
}
Result cu_occupancy(int* blocks, void* /*function*/, int threads, std::size_t /*shared*/) {
  const Locked machine;
  *blocks = machine->facts.attribute(kThreadsPerMultiprocessor) / std::max(threads, 1);
  return kSuccess;
}
Result cu_occupancy_clusters(int* clusters, void* /*function*/, const void* /*config*/) {
  *clusters = Locked()->facts.attribute(kMultiprocessors);
  return kSuccess;
}

Result launch(void* function, void* stream) {
  const Locked machine;
  if (Kernel* kernel = kernels().find(function)) ++kernel->launches;
  load_kernels(*machine, machine->active());
  machine->streams.work(machine->streams.of(stream));
  return kSuccess;
}
Result cu_launch_kernel(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned /*shared*/, void* stream, void**, void**) {
  return launch(function, stream);
}
Result cu_launch_cooperative_kernel(void* function, unsigned, unsigned, unsigned, unsigned,
                                    unsigned, unsigned, unsigned /*shared*/, void* stream, void**) {
  return launch(function, stream);
}
/// CUlaunchConfig, up to the stream.
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared;
  void* stream;
};
Result cu_launch_kernel_ex(const LaunchConfig* config, void* function, void**, void**) {
  return launch(function, config->stream);
}

}  // namespace

std::span<const Answer> driver_module_answers() {
  static const Answer answers[] = {
      answer("cuModuleLoad", cu_module_load),
      answer("cuModuleLoadData", cu_module_load),
      answer("cuModuleLoadDataEx", cu_module_load_ex),
      answer("cuModuleLoadFatBinary", cu_module_load),
      answer("cuModuleGetFunction", cu_get_function),
      answer("cuModuleGetGlobal_v2", cu_get_global),
      answer("cuLibraryLoadData", cu_library_load),
      answer("cuLibraryGetKernel", cu_get_function),
      answer("cuKernelGetFunction", cu_kernel_get_function),
      answer("cuFuncGetAttribute", cu_func_get_attribute),
      answer("cuOccupancyMaxActiveBlocksPerMultiprocessor", cu_occupancy),
      answer("cuOccupancyMaxActiveClusters", cu_occupancy_clusters),
      answer("cuLaunchKernel", cu_launch_kernel),
      answer("cuLaunchKernelEx", cu_launch_kernel_ex),
      answer("cuLaunchCooperativeKernel", cu_launch_cooperative_kernel),
  };
  return answers;
}

}  // namespace vramfit::standin
