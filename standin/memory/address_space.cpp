#include "standin/memory/address_space.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace vramfit::standin {
namespace {

[[noreturn]] void refuse() {
  throw std::runtime_error(
      "the 4 TiB of addresses that stand for a GPU's memory, of which next to nothing is used, "
      "cannot be reserved (" +
      std::string(std::strerror(errno)) +
      "): ulimit -v unlimited, and vm.overcommit_memory other than 2");
}

}  // namespace

AddressSpace::AddressSpace() {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* start = ::mmap(nullptr, 2 * kBytes, PROT_NONE, kFlags, -1, 0);
  if (start == MAP_FAILED) refuse();
  begin_ = reinterpret_cast<std::uint64_t>(start);
  if (::mprotect(twin(begin_), kBytes, PROT_READ | PROT_WRITE) != 0) refuse();
}

void AddressSpace::forget(std::uint64_t address, std::uint64_t bytes) {
  ::madvise(twin(address), bytes, MADV_DONTNEED);
}

}  // namespace vramfit::standin
