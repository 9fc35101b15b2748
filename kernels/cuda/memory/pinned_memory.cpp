#include "kernels/cuda/memory/pinned_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

#include "kernels/cuda/base/error.h"
#include "model/checked.h"
#include "model/errors.h"
#include "model/memory/pool.h"

namespace vramfit {
namespace {

std::byte* reserve_addresses(std::uint64_t bytes) {
  void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(),
                            "reserving " + std::to_string(bytes) + " bytes of addresses");
  }
  // Advice: fewer, larger pages are sooner there and sooner locked.
  madvise(base, bytes, MADV_HUGEPAGE);
  return static_cast<std::byte*>(base);
}

}  // namespace

PinnedSource::PinnedSource(std::uint64_t capacity)
    : capacity_(std::max(capacity / Pool::kGranularity, std::uint64_t{1}) * Pool::kGranularity),
      base_(reserve_addresses(capacity_)) {}

PinnedSource::~PinnedSource() {
  if (end_ > 0) {
    warn(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    warn(cudaHostUnregister(base_), "cudaHostUnregister");
  }
  munmap(base_, capacity_);
}

void PinnedSource::grow(std::uint64_t from, std::uint64_t to) {
  if (from != end_ || to < from || to > capacity_) {
    throw std::logic_error("the host's memory grows from where it ends, within its capacity");
  }
  if (from == 0) {
    const cudaError_t status = cudaHostRegister(base_, to, cudaHostRegisterDefault);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw OutOfMemory(to, 0, capacity_);
    }
    check(status, "cudaHostRegister");
  }
  end_ = to;
}

}  // namespace vramfit
