#include <algorithm>
#include <vector>

#include "standin/kernels/counts.h"
#include "standin/kernels/kernels.h"
#include "standin/libraries/cuda.h"
#include "standin/libraries/loads.h"
#include "standin/libraries/tables.h"
#include "standin/machine.h"

// The CUDA runtime's kernels: what programs register as they are loaded, attributes, launches.
namespace vramfit::standin {
namespace {

struct Call {
  Dim3 grid;
  Dim3 block;
  std::size_t shared;
  void* stream;
};

std::vector<Call>& calls() {
  thread_local std::vector<Call> stack;
  return stack;
}

void** register_fat_binary(void* fatbin) {
  return new void*(fatbin);  // a handle; for as long as the process lives
}
void register_function(void** module, const char* function, char* /*device_function*/,
                       const char* name, int /*limit*/, void*, void*, void*, void*, void*) {
  kernels().add(function, *module, name);
}
char init_module(void** /*module*/) { return 1; }

unsigned push_call_configuration(Dim3 grid, Dim3 block, std::size_t shared, void* stream) {
  calls().push_back({grid, block, shared, stream});
  return 0;
}
Result pop_call_configuration(Dim3* grid, Dim3* block, std::size_t* shared, void** stream) {
  if (calls().empty()) return fail(kInvalidValue);
  const Call& call = calls().back();
  *grid = call.grid;
  *block = call.block;
  *shared = call.shared;
  *stream = call.stream;
  calls().pop_back();
  return kSuccess;
}

/// A handle is the function itself.
Result get_kernel(void** kernel, const void* function) {
  *kernel = const_cast<void*>(function);
  return kSuccess;
}

Result launch(const void* function, void** arguments, void* stream) {
  const Locked machine;
  Device& gpu = machine->active();
  Kernel* kernel = kernels().find(function);
  if (kernel && kernels().code_of(*kernel, machine->facts.sm()) == 0) return fail(kNoKernelImage);
  load_kernels(*machine, gpu);
  if (kernel) {
    ++kernel->launches;
    if (kernel->group == Kernel::Group::Attention) load_attention(*machine, gpu, false);
    if (kernel->group == Kernel::Group::BackwardAttention) load_attention(*machine, gpu, true);
    if (kernel->group == Kernel::Group::Asserts) load_asserts(gpu);
    count_for(*machine, *kernel, arguments);
  }
  machine->streams.work(machine->streams.of(stream));
  return kSuccess;
}
Result cuda_launch_kernel(const void* function, Dim3 /*grid*/, Dim3 /*block*/, void** arguments,
                          std::size_t /*shared*/, void* stream) {
  return launch(function, arguments, stream);
}
/// cudaLaunchConfig_t.
struct LaunchConfig {
  Dim3 grid;
  Dim3 block;
  std::size_t shared;
  void* stream;
};
Result cuda_launch_kernel_ex(const LaunchConfig* config, const void* function, void** arguments) {
  return launch(function, arguments, config->stream);
}

Result cuda_func_get_attributes(FunctionAttributes* attributes, const void* function) {
  const Locked machine;
  *attributes = {};
  const int sm = machine->facts.sm();
  const Kernel* kernel = kernels().find(function);
  const int code = kernel ? kernels().code_of(*kernel, sm) : sm;
  if (code == 0) return fail(kNoKernelImage);
  attributes->max_threads_per_block = machine->facts.attribute(kMaxThreadsPerBlock);
  attributes->registers = 32;
  attributes->ptx_version = code;
  attributes->binary_version = code;
  attributes->max_dynamic_shared_bytes = machine->facts.attribute(kSharedPerBlock);
  return kSuccess;
}

/// By threads and shared memory. Registers are in no table of ours: as few as allow it are assumed.
Result blocks_per_multiprocessor(int* blocks, const void* /*function*/, int threads,
                                 std::size_t shared) {
  const Locked machine;
  const Facts& facts = machine->facts;
  const auto block_shared = static_cast<int>(shared) + facts.attribute(kReservedSharedPerBlock);
  *blocks = std::min({facts.attribute(kThreadsPerMultiprocessor) / std::max(threads, 1),
                      facts.attribute(kBlocksPerMultiprocessor),
                      facts.attribute(kSharedPerMultiprocessor) / std::max(block_shared, 1)});
  return kSuccess;
}
Result blocks_per_multiprocessor_with_flags(int* blocks, const void* function, int threads,
                                            std::size_t shared, unsigned /*flags*/) {
  return blocks_per_multiprocessor(blocks, function, threads, shared);
}

/// A variable of a module's, which has an address of its own.
Result cuda_get_symbol_address(void** address, const void* /*symbol*/) {
  const Locked machine;
  *address = pointer_to(machine->active().memory.reserve_addresses(DeviceMemory::kPage, 0));
  return kSuccess;
}

}  // namespace

std::span<const Answer> runtime_kernel_answers() {
  static const Answer answers[] = {
      answer("__cudaRegisterFatBinary", register_fat_binary),
      answer("__cudaRegisterFunction", register_function),
      answer("__cudaInitModule", init_module),
      answer("__cudaPushCallConfiguration", push_call_configuration),
      answer("__cudaPopCallConfiguration", pop_call_configuration),
      answer("__cudaGetKernel", get_kernel),
      answer("cudaGetKernel", get_kernel),
      answer("cudaGetFuncBySymbol", get_kernel),
      answer("__cudaLaunchKernel", cuda_launch_kernel),
      answer("cudaLaunchKernel", cuda_launch_kernel),
      answer("cudaLaunchCooperativeKernel", cuda_launch_kernel),
      answer("cudaLaunchKernelExC", cuda_launch_kernel_ex),
      answer("cudaFuncGetAttributes", cuda_func_get_attributes),
      answer("cudaOccupancyMaxActiveBlocksPerMultiprocessor", blocks_per_multiprocessor),
      answer("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
             blocks_per_multiprocessor_with_flags),
      answer("cudaGetSymbolAddress", cuda_get_symbol_address),
  };
  return answers;
}

}  // namespace vramfit::standin
