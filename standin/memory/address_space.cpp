#include "standin/memory/address_space.h"

#include <sys/mman.h>

#include <system_error>

namespace vramfit::standin {

AddressSpace::AddressSpace() {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* start = ::mmap(nullptr, 2 * kBytes, PROT_NONE, kFlags, -1, 0);
  if (start == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "reserving addresses for a GPU");
  }
  begin_ = reinterpret_cast<std::uint64_t>(start);
  if (::mprotect(twin(begin_), kBytes, PROT_READ | PROT_WRITE) != 0) {
    throw std::system_error(errno, std::generic_category(), "reserving a GPU's values");
  }
}

void AddressSpace::forget(std::uint64_t address, std::uint64_t bytes) {
  ::madvise(twin(address), bytes, MADV_DONTNEED);
}

}  // namespace vramfit::standin
