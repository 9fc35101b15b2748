#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "standin/calls/unanswered.h"
#include "standin/copies.h"
#include "standin/libraries/cuda.h"
#include "standin/libraries/tables.h"
#include "standin/machine.h"

// The CUDA runtime's memory: allocations, copies, pools.
namespace vramfit::standin {
namespace {

Result cuda_malloc(void** pointer, std::size_t bytes) {
  if (!pointer) return fail(kInvalidValue);
  *pointer = nullptr;
  if (bytes == 0) return kSuccess;
  const Locked machine;
  const std::uint64_t address = machine->active().memory.allocate(bytes);
  if (address == 0) return fail(kOutOfMemory);
  *pointer = pointer_to(address);
  return kSuccess;
}

Result cuda_free(void* pointer) {
  const Locked machine;
  machine->active();  // cudaFree(0) is how programs make a context
  if (!pointer) return kSuccess;
  machine->streams.synchronize();
  if (machine->host.is_managed(pointer)) {
    machine->host.free(pointer);
    return kSuccess;
  }
  Device* gpu = machine->owner(address_of(pointer));
  return gpu && gpu->memory.free(address_of(pointer)) ? kSuccess : fail(kInvalidValue);
}

/// From a stream-ordered pool: what is given back there is free for all at once, which it is at the
/// latest at the next synchronisation (the release threshold is 0 unless it is set).
Result cuda_malloc_async(void** pointer, std::size_t bytes, void* /*stream*/) {
  return cuda_malloc(pointer, bytes);
}
Result cuda_malloc_from_pool(void** pointer, std::size_t bytes, void* /*pool*/, void* /*stream*/) {
  return cuda_malloc(pointer, bytes);
}
Result cuda_free_async(void* pointer, void* /*stream*/) { return cuda_free(pointer); }

Result cuda_mem_get_info(std::size_t* free, std::size_t* total) {
  const Locked machine;
  const DeviceMemory& memory = machine->active().memory;
  *free = memory.free_bytes();
  *total = memory.total();
  return kSuccess;
}

Result cuda_host_alloc(void** pointer, std::size_t bytes, unsigned /*flags*/) {
  const Locked machine;
  machine->active();
  *pointer = machine->host.allocate(bytes);
  return *pointer ? kSuccess : fail(kOutOfMemory);
}
Result cuda_malloc_host(void** pointer, std::size_t bytes) {
  return cuda_host_alloc(pointer, bytes, 0);
}
Result cuda_free_host(void* pointer) {
  const Locked machine;
  return !pointer || machine->host.free(pointer) ? kSuccess : fail(kInvalidValue);
}
Result cuda_host_register(void* pointer, std::size_t bytes, unsigned /*flags*/) {
  const Locked machine;
  machine->host.lock(pointer, bytes);
  return kSuccess;
}
Result cuda_host_unregister(void* pointer) {
  const Locked machine;
  return machine->host.unlock(pointer) ? kSuccess : fail(kHostMemoryNotRegistered);
}
Result cuda_host_get_device_pointer(void** device, void* host, unsigned /*flags*/) {
  *device = host;
  return kSuccess;
}

/// For bitsandbytes' paged optimizers, which ask for it and touch it by kernels alone. How much of
/// others' would be on the card when, nobody knows.
Result cuda_malloc_managed(void** pointer, std::size_t bytes, unsigned /*flags*/) {
  const std::string library = file_around(__builtin_return_address(0));
  const Locked machine;
  machine->active();
  if (library.find("bitsandbytes") == library.npos) {
    std::fprintf(stderr,
                 "vramfit: %s asked for managed memory, which is accounted for as bitsandbytes' "
                 "paged optimizers use it, and for nobody else: it gets none\n",
                 library.c_str());
    return fail(kNotSupported);
  }
  *pointer = machine->host.allocate(bytes, HostMemory::Kind::Managed);
  return *pointer ? kSuccess : fail(kOutOfMemory);
}

Result cuda_memcpy(void* to, const void* from, std::size_t bytes, int /*kind*/) {
  const Locked machine;
  machine->active();
  copy(*machine, to, from, bytes);
  machine->streams.synchronize();
  return kSuccess;
}
Result cuda_memcpy_async(void* to, const void* from, std::size_t bytes, int /*kind*/,
                         void* stream) {
  const Locked machine;
  machine->active();
  machine->streams.work(machine->streams.of(stream));
  copy(*machine, to, from, bytes);
  return kSuccess;
}
Result cuda_memcpy_peer_async(void* to, int /*device*/, const void* from, int /*device*/,
                              std::size_t bytes, void* stream) {
  return cuda_memcpy_async(to, from, bytes, 0, stream);
}
Result cuda_memcpy_2d_async(void* to, std::size_t to_pitch, const void* from,
                            std::size_t from_pitch, std::size_t width, std::size_t height,
                            int /*kind*/, void* stream) {
  const Locked machine;
  machine->active();
  machine->streams.work(machine->streams.of(stream));
  if (width * height > kSmall) return kSuccess;
  for (std::size_t row = 0; row < height; ++row) {
    copy(*machine, static_cast<std::byte*>(to) + row * to_pitch,
         static_cast<const std::byte*>(from) + row * from_pitch, width);
  }
  return kSuccess;
}

Result cuda_memset_async(void* to, int value, std::size_t bytes, void* stream) {
  const Locked machine;
  machine->active();
  machine->streams.work_less(machine->streams.of(stream));
  fill(*machine, to, value, bytes);
  return kSuccess;
}
Result cuda_memset(void* to, int value, std::size_t bytes) {
  return cuda_memset_async(to, value, bytes, nullptr);
}

Result cuda_pointer_get_attributes(PointerAttributes* attributes, const void* pointer) {
  const Locked machine;
  *attributes = {};
  attributes->device = -2;  // cudaInvalidDeviceId
  for (std::size_t i = 0; i < machine->visible().size(); ++i) {
    if (!machine->visible()[i]->memory.holds(address_of(pointer))) continue;
    attributes->type = MemoryType::Device;
    attributes->device = static_cast<int>(i);
    attributes->device_pointer = const_cast<void*>(pointer);
    return kSuccess;
  }
  if (machine->host.holds(pointer)) {
    const bool managed = machine->host.is_managed(pointer);
    *attributes = {managed ? MemoryType::Managed : MemoryType::Host, Machine::current(),
                   const_cast<void*>(pointer), const_cast<void*>(pointer)};
  } else {
    attributes->host_pointer = const_cast<void*>(pointer);
  }
  return kSuccess;
}

/// A handle is the pointer, and the process that has it: of other ranks' memory, whose handles come
/// from this process too, this rank's own stands in its place, and the card has no more to hold.
struct IpcHandle {
  void* pointer;
  int process;
  char rest[48];
};
Result cuda_ipc_get_mem_handle(IpcHandle* handle, void* pointer) {
  const Locked machine;
  if (!machine->owner(address_of(pointer))) return fail(kInvalidValue);
  *handle = {.pointer = pointer, .process = ::getpid(), .rest = {}};
  return kSuccess;
}
Result cuda_ipc_open_mem_handle(void** pointer, IpcHandle handle, unsigned /*flags*/) {
  const bool is_ours = handle.process == ::getpid();
  *pointer = is_ours ? handle.pointer : nullptr;
  if (!is_ours) {
    count_unknown("libcudart.so", "cudaIpcOpenMemHandle", __builtin_return_address(0), true);
  }
  return kSuccess;
}
Result cuda_ipc_close_mem_handle(void* /*pointer*/) { return kSuccess; }

/// The one pool of a GPU: what asks it, asks the GPU.
Result cuda_device_get_default_mem_pool(void** pool, int device) {
  *pool = pointer_to(0x1000U + static_cast<unsigned>(device));
  return kSuccess;
}
/// cudaMemPoolGetAttribute: 5 to 8 are bytes reserved and used, now and at most.
Result cuda_mem_pool_get_attribute(void* /*pool*/, int attribute, void* value) {
  const Locked machine;
  const DeviceMemory& memory = machine->active().memory;
  if (attribute < 4) {
    *static_cast<int*>(value) = 1;
    return kSuccess;
  }
  const bool most = attribute == 6 || attribute == 8;
  const std::uint64_t bytes = attribute == 4 ? 0 : most ? memory.peak_used() : memory.used();
  *static_cast<std::uint64_t*>(value) = bytes - std::min(bytes, memory.libraries());
  return kSuccess;
}

}  // namespace

std::span<const Answer> runtime_memory_answers() {
  static const Answer answers[] = {
      answer("cudaMalloc", cuda_malloc),
      answer("cudaFree", cuda_free),
      answer("cudaMallocAsync", cuda_malloc_async),
      answer("cudaMallocFromPoolAsync", cuda_malloc_from_pool),
      answer("cudaFreeAsync", cuda_free_async),
      answer("cudaMallocManaged", cuda_malloc_managed),
      answer("cudaMemGetInfo", cuda_mem_get_info),
      answer("cudaHostAlloc", cuda_host_alloc),
      answer("cudaMallocHost", cuda_malloc_host),
      answer("cudaFreeHost", cuda_free_host),
      answer("cudaHostRegister", cuda_host_register),
      answer("cudaHostUnregister", cuda_host_unregister),
      answer("cudaHostGetDevicePointer", cuda_host_get_device_pointer),
      answer("cudaMemcpy", cuda_memcpy),
      answer("cudaMemcpyAsync", cuda_memcpy_async),
      answer("cudaMemcpyPeerAsync", cuda_memcpy_peer_async),
      answer("cudaMemcpy2DAsync", cuda_memcpy_2d_async),
      answer("cudaMemset", cuda_memset),
      answer("cudaMemsetAsync", cuda_memset_async),
      answer("cudaIpcGetMemHandle", cuda_ipc_get_mem_handle),
      answer("cudaIpcOpenMemHandle", cuda_ipc_open_mem_handle),
      answer("cudaIpcCloseMemHandle", cuda_ipc_close_mem_handle),
      answer("cudaPointerGetAttributes", cuda_pointer_get_attributes),
      answer("cudaDeviceGetDefaultMemPool", cuda_device_get_default_mem_pool),
      answer("cudaDeviceGetMemPool", cuda_device_get_default_mem_pool),
      answer("cudaMemPoolGetAttribute", cuda_mem_pool_get_attribute),
  };
  return answers;
}

}  // namespace vramfit::standin
