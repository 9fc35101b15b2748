#include <map>

#include "standin/copies.h"
#include "standin/libraries/cuda.h"
#include "standin/libraries/tables.h"
#include "standin/machine.h"

// The driver's memory: allocations, and physical pages mapped at reserved addresses.
namespace vramfit::standin {
namespace {

Result cu_mem_alloc(std::uint64_t* address, std::size_t bytes) {
  const Locked machine;
  *address = machine->active().memory.allocate(bytes);
  return *address != 0 ? kSuccess : kOutOfMemory;
}
Result cu_mem_free(std::uint64_t address) {
  const Locked machine;
  Device* gpu = machine->owner(address);
  return gpu && gpu->memory.free(address) ? kSuccess : kInvalidValue;
}
Result cu_mem_get_info(std::size_t* free, std::size_t* total) {
  const Locked machine;
  const DeviceMemory& memory = machine->active().memory;
  *free = memory.free_bytes();
  *total = memory.total();
  return kSuccess;
}

/// A block of physical memory. It lives until it is released and nowhere mapped.
struct Pages {
  std::uint64_t bytes;
  int device;
  int holders;
};
std::map<std::uint64_t, Pages*>& mapped() {
  static auto* the = new std::map<std::uint64_t, Pages*>;
  return *the;
}
void let_go(Machine& machine, Pages* pages) {
  if (--pages->holders > 0) return;
  machine.gpu(pages->device).memory.give_pages(pages->bytes);
  delete pages;
}

/// CUmemAllocationProp, as far as we read it: type, handle types, and where.
struct AllocationProperties {
  int type;
  int handle_types;
  int location_type;  ///< 1: a GPU
  int location;
};

Result cu_mem_get_allocation_granularity(std::size_t* bytes, const AllocationProperties*, int) {
  *bytes = DeviceMemory::kPage;
  return kSuccess;
}
Result cu_mem_address_reserve(std::uint64_t* address, std::size_t bytes, std::size_t alignment,
                              std::uint64_t /*wish*/, unsigned long long /*flags*/) {
  const Locked machine;
  *address = machine->active().memory.reserve_addresses(bytes, alignment);
  return *address != 0 ? kSuccess : kOutOfMemory;
}
Result cu_mem_create(Pages** handle, std::size_t bytes, const AllocationProperties* properties,
                     unsigned long long /*flags*/) {
  const Locked machine;
  const int device = properties->location;
  if (!machine->has(device)) return kInvalidDevice;
  if (bytes % DeviceMemory::kPage != 0) return kInvalidValue;
  if (!machine->gpu(device).memory.take_pages(bytes)) {
    return kOutOfMemory;
  }
  *handle = new Pages{bytes, device, 1};
  return kSuccess;
}
Result cu_mem_release(Pages* handle) {
  const Locked machine;
  let_go(*machine, handle);
  return kSuccess;
}
Result cu_mem_map(std::uint64_t address, std::size_t /*bytes*/, std::size_t /*offset*/,
                  Pages* handle, unsigned long long /*flags*/) {
  const Locked machine;
  ++handle->holders;
  mapped()[address] = handle;
  return kSuccess;
}
Result cu_mem_unmap(std::uint64_t address, std::size_t bytes) {
  const Locked machine;
  auto at = mapped().lower_bound(address);
  while (at != mapped().end() && at->first < address + bytes) {
    Device* gpu = machine->owner(at->first);
    gpu->memory.values().set(at->first, at->second->bytes, Knowledge::Unknown);
    AddressSpace::forget(at->first, at->second->bytes);
    let_go(*machine, at->second);
    at = mapped().erase(at);
  }
  return kSuccess;
}
Result cu_mem_retain_allocation_handle(Pages** handle, void* address) {
  const Locked machine;
  const auto found = mapped().find(address_of(address));
  if (found == mapped().end()) return kInvalidValue;
  ++found->second->holders;
  *handle = found->second;
  return kSuccess;
}

Result cu_mem_get_address_range(std::uint64_t* base, std::size_t* bytes, std::uint64_t address) {
  const Locked machine;
  Device* gpu = machine->owner(address);
  const auto range = gpu ? gpu->memory.around(address) : DeviceMemory::Range{};
  if (range.bytes == 0) return kInvalidValue;
  if (base) *base = range.address;
  if (bytes) *bytes = range.bytes;
  return kSuccess;
}
/// CUpointer_attribute: 1 context, 2 memory type, 3 device address, 4 host address, 9 ordinal, 11
/// and 12 the allocation around it: where it begins, its bytes.
Result cu_pointer_get_attribute(void* value, int attribute, std::uint64_t pointer) {
  const Locked machine;
  const Device* gpu = machine->owner(pointer);
  const bool locked = machine->host.holds(pointer_to(pointer));
  if (!gpu && !locked) return kInvalidValue;
  if (attribute == 2) {
    *static_cast<unsigned*>(value) = gpu ? 2 : 1;
  } else if (attribute == 1 || attribute == 3 || attribute == 4) {
    *static_cast<std::uint64_t*>(value) = pointer;
  } else if (gpu && (attribute == 11 || attribute == 12)) {
    const DeviceMemory::Range range = gpu->memory.around(pointer);
    *static_cast<std::uint64_t*>(value) = attribute == 11 ? range.address : range.bytes;
  } else {
    *static_cast<int*>(value) = 0;
  }
  return kSuccess;
}

Result cu_memcpy(void* to, const void* from, std::size_t bytes) {
  const Locked machine;
  copy(*machine, to, from, bytes);
  machine->streams.synchronize();
  return kSuccess;
}
Result cu_memcpy_async(void* to, const void* from, std::size_t bytes, void* stream) {
  const Locked machine;
  machine->streams.work(machine->streams.of(stream));
  copy(*machine, to, from, bytes);
  return kSuccess;
}
Result cu_memset_d8_async(void* to, unsigned char value, std::size_t count, void* stream) {
  const Locked machine;
  machine->streams.work_less(machine->streams.of(stream));
  fill(*machine, to, value, count);
  return kSuccess;
}
/// Bytes that are not alike stay unknown.
Result cu_memset_d32_async(void* to, unsigned value, std::size_t count, void* stream) {
  const Locked machine;
  machine->streams.work_less(machine->streams.of(stream));
  if (value == 0) {
    fill(*machine, to, 0, count * sizeof value);
  } else if (Device* gpu = machine->owner(address_of(to))) {
    gpu->memory.values().set(address_of(to), count * sizeof value, Knowledge::Unknown);
  }
  return kSuccess;
}

}  // namespace

std::span<const Answer> driver_memory_answers() {
  static const Answer answers[] = {
      answer("cuMemAlloc_v2", cu_mem_alloc),
      answer("cuMemAlloc", cu_mem_alloc),
      answer("cuMemFree_v2", cu_mem_free),
      answer("cuMemFree", cu_mem_free),
      answer("cuMemGetInfo_v2", cu_mem_get_info),
      answer("cuMemGetInfo", cu_mem_get_info),
      answer("cuMemGetAllocationGranularity", cu_mem_get_allocation_granularity),
      answer("cuMemAddressReserve", cu_mem_address_reserve),
      answer("cuMemCreate", cu_mem_create),
      answer("cuMemRelease", cu_mem_release),
      answer("cuMemMap", cu_mem_map),
      answer("cuMemUnmap", cu_mem_unmap),
      answer("cuMemRetainAllocationHandle", cu_mem_retain_allocation_handle),
      answer("cuMemGetAddressRange_v2", cu_mem_get_address_range),
      answer("cuPointerGetAttribute", cu_pointer_get_attribute),
      answer("cuMemcpyDtoH_v2", cu_memcpy),
      answer("cuMemcpyHtoD_v2", cu_memcpy),
      answer("cuMemcpyAsync", cu_memcpy_async),
      answer("cuMemcpyDtoHAsync_v2", cu_memcpy_async),
      answer("cuMemcpyHtoDAsync_v2", cu_memcpy_async),
      answer("cuMemsetD8Async", cu_memset_d8_async),
      answer("cuMemsetD32Async", cu_memset_d32_async),
  };
  return answers;
}

}  // namespace vramfit::standin
