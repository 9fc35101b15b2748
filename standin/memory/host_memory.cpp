#include "standin/memory/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

namespace vramfit::standin {
namespace {

std::uint64_t value(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

}  // namespace

void HostMemory::add(std::uint64_t address, Range range) {
  ranges_[address] = range;
  bytes_ += range.bytes;
  peak_ = std::max(peak_, bytes_);
}

void* HostMemory::allocate(std::uint64_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* start =
      ::mmap(nullptr, std::max(bytes, std::uint64_t{1}), PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  add(value(start), {bytes, true});
  return start;
}

bool HostMemory::free(void* address) {
  const auto found = ranges_.find(value(address));
  if (found == ranges_.end() || !found->second.ours) return false;
  ::munmap(address, std::max(found->second.bytes, std::uint64_t{1}));
  bytes_ -= found->second.bytes;
  ranges_.erase(found);
  return true;
}

void HostMemory::lock(const void* address, std::uint64_t bytes) {
  add(value(address), {bytes, false});
}

bool HostMemory::unlock(const void* address) {
  const auto found = ranges_.find(value(address));
  if (found == ranges_.end() || found->second.ours) return false;
  bytes_ -= found->second.bytes;
  ranges_.erase(found);
  return true;
}

bool HostMemory::holds(const void* address) const {
  const auto after = ranges_.upper_bound(value(address));
  if (after == ranges_.begin()) return false;
  const auto& [first, range] = *std::prev(after);
  return value(address) - first < range.bytes;
}

}  // namespace vramfit::standin
