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
  Level& counted = level(range.kind);
  counted.bytes += range.bytes;
  counted.peak = std::max(counted.peak, counted.bytes);
}

void HostMemory::remove(std::map<std::uint64_t, Range>::iterator at) {
  level(at->second.kind).bytes -= at->second.bytes;
  ranges_.erase(at);
}

void* HostMemory::allocate(std::uint64_t bytes, Kind kind) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* start =
      ::mmap(nullptr, std::max(bytes, std::uint64_t{1}), PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  add(value(start), {bytes, kind});
  return start;
}

bool HostMemory::free(void* address) {
  const auto found = ranges_.find(value(address));
  if (found == ranges_.end() || found->second.kind == Kind::Registered) return false;
  ::munmap(address, std::max(found->second.bytes, std::uint64_t{1}));
  remove(found);
  return true;
}

void HostMemory::lock(const void* address, std::uint64_t bytes) {
  add(value(address), {bytes, Kind::Registered});
}

bool HostMemory::unlock(const void* address) {
  const auto found = ranges_.find(value(address));
  if (found == ranges_.end() || found->second.kind != Kind::Registered) return false;
  remove(found);
  return true;
}

const HostMemory::Range* HostMemory::around(const void* address) const {
  const auto after = ranges_.upper_bound(value(address));
  if (after == ranges_.begin()) return nullptr;
  const auto& [first, range] = *std::prev(after);
  return value(address) - first < range.bytes ? &range : nullptr;
}

bool HostMemory::holds(const void* address) const { return around(address) != nullptr; }

bool HostMemory::is_managed(const void* address) const {
  const Range* range = around(address);
  return range && range->kind == Kind::Managed;
}

}  // namespace vramfit::standin
