#include "kernels/cpu/host_source.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "model/errors.h"

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>  // where the sanitizer is off its macros do nothing
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) (static_cast<void>(0))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) (static_cast<void>(0))
#endif

namespace vramfit {
namespace {

constexpr int kNeverWritten = 0xFF;

std::byte* reserve_addresses(std::uint64_t bytes) {
  void* const base = mmap(nullptr, std::max(bytes, std::uint64_t{1}), PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(),
                            "reserving " + std::to_string(bytes) + " bytes of addresses");
  }
  return static_cast<std::byte*>(base);
}

}  // namespace

HostSource::HostSource(std::uint64_t capacity)
    : capacity_(capacity), base_(reserve_addresses(capacity)) {}

HostSource::~HostSource() {
  ASAN_UNPOISON_MEMORY_REGION(base_, grown_);
  munmap(base_, std::max(capacity_, std::uint64_t{1}));
}

void HostSource::grow(std::uint64_t from, std::uint64_t to) {
  if (from != grown_ || to < from || to > capacity_) {
    throw std::logic_error("host memory grows from where it ends, within its capacity");
  }
  if (mprotect(base_ + from, to - from, PROT_READ | PROT_WRITE) != 0) {
    throw OutOfMemory(to - from, grown_, capacity_);
  }
  grown_ = to;
  ASAN_POISON_MEMORY_REGION(base_ + from, to - from);
}

void HostSource::on_allocate(std::uint64_t offset, std::uint64_t bytes) {
  ASAN_UNPOISON_MEMORY_REGION(base_ + offset, bytes);
  std::memset(base_ + offset, kNeverWritten, bytes);
}

void HostSource::on_free(std::uint64_t offset, std::uint64_t bytes) {
  std::memset(base_ + offset, kNeverWritten, bytes);
  ASAN_POISON_MEMORY_REGION(base_ + offset, bytes);
}

}  // namespace vramfit
