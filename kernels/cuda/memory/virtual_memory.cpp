#include "kernels/cuda/memory/virtual_memory.h"

#include <algorithm>
#include <stdexcept>

#include "kernels/cuda/base/error.h"
#include "model/checked.h"
#include "model/memory/pool.h"

namespace vramfit {
namespace {

/// The driver's functions for virtual memory, found once.
struct Driver {
#define VRAMFIT_DRIVER_FUNCTION(member, symbol) \
  decltype(&symbol) member = driver_function<decltype(&symbol)>(#symbol)
  VRAMFIT_DRIVER_FUNCTION(granularity, cuMemGetAllocationGranularity);
  VRAMFIT_DRIVER_FUNCTION(reserve, cuMemAddressReserve);
  VRAMFIT_DRIVER_FUNCTION(free_addresses, cuMemAddressFree);
  VRAMFIT_DRIVER_FUNCTION(create, cuMemCreate);
  VRAMFIT_DRIVER_FUNCTION(release, cuMemRelease);
  VRAMFIT_DRIVER_FUNCTION(map, cuMemMap);
  VRAMFIT_DRIVER_FUNCTION(unmap, cuMemUnmap);
  VRAMFIT_DRIVER_FUNCTION(set_access, cuMemSetAccess);
#undef VRAMFIT_DRIVER_FUNCTION

  static const Driver& get() {
    static const Driver driver;
    return driver;
  }
};

CUmemAllocationProp on_device(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

void require_granularity(const CUmemAllocationProp& properties) {
  std::size_t granularity = 0;
  check(Driver::get().granularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        "cuMemGetAllocationGranularity");
  if (Pool::kGranularity % granularity != 0) {
    throw CudaError("CUDA: this driver maps memory in steps of " + std::to_string(granularity) +
                    " bytes; the pool grows in steps of " + std::to_string(Pool::kGranularity));
  }
}

/// Backs `bytes` bytes at `address`; leaves nothing behind where it fails.
CUresult back(const CUmemAllocationProp& properties, CUdeviceptr address, std::uint64_t bytes) {
  const Driver& driver = Driver::get();
  CUmemGenericAllocationHandle memory = 0;
  CUresult status = driver.create(&memory, bytes, &properties, 0);
  if (status != CUDA_SUCCESS) return status;
  status = driver.map(address, bytes, 0, memory, 0);
  // From here on the mapping alone keeps the memory.
  warn(driver.release(memory), "cuMemRelease");
  if (status != CUDA_SUCCESS) return status;
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  status = driver.set_access(address, bytes, &access, 1);
  if (status != CUDA_SUCCESS) warn(driver.unmap(address, bytes), "cuMemUnmap");
  return status;
}

}  // namespace

CudaSource::CudaSource(std::uint64_t capacity) : capacity_(capacity) {
  check(cudaGetDevice(&device_), "cudaGetDevice");
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");  // makes the context, where there is none
  require_granularity(on_device(device_));
  addresses_ = round_up(std::min<std::uint64_t>(capacity, total), Pool::kGranularity);
  if (addresses_ == 0) return;
  CUdeviceptr base = 0;
  check(Driver::get().reserve(&base, addresses_, 0, 0, 0), "cuMemAddressReserve");
  base_ = base;
}

CudaSource::~CudaSource() {
  if (addresses_ == 0) return;
  warn(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  const Driver& driver = Driver::get();
  if (mapped_ > 0) warn(driver.unmap(base_, mapped_), "cuMemUnmap");
  warn(driver.free_addresses(base_, addresses_), "cuMemAddressFree");
}

std::byte* CudaSource::base() const { return reinterpret_cast<std::byte*>(base_); }

void CudaSource::grow(std::uint64_t from, std::uint64_t to) {
  if (from != mapped_ || to < from || to > capacity_ || to % Pool::kGranularity != 0) {
    throw std::logic_error("GPU memory grows from where it ends, in whole pages, to its capacity");
  }
  if (to > addresses_) throw OutOfMemory(to - from, mapped_, capacity_);
  const CUresult status = back(on_device(device_), base_ + from, to - from);
  if (status == CUDA_ERROR_OUT_OF_MEMORY) throw OutOfMemory(to - from, mapped_, capacity_);
  check(status, "mapping GPU memory");
  mapped_ = to;
}

}  // namespace vramfit
