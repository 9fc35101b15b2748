#include "standin/copies.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <deque>

#include "standin/machine.h"

namespace vramfit::standin {
namespace {

std::deque<std::int64_t>& expected_reads() {
  thread_local std::deque<std::int64_t> reads;
  return reads;
}

std::atomic<std::uint64_t> reads_of_unknown = 0;

thread_local bool looks_at_copies = true;

void read_to_host(Device& gpu, void* to, std::uint64_t from, std::uint64_t bytes) {
  auto& expected = expected_reads();
  if (!expected.empty() && bytes <= kSmall) {
    const std::uint64_t first = std::min(bytes, std::uint64_t{sizeof(std::int64_t)});
    std::memset(to, 0, bytes);
    std::memcpy(to, &expected.front(), first);  // little-endian: narrower ones are its lower bytes
    expected.pop_front();
    return;
  }
  if (bytes > kSmall || !looks_at_copies) return;
  if (gpu.memory.values().least(from, bytes) == Knowledge::Unknown) note_unknown_read();
  std::memcpy(to, AddressSpace::twin(from), bytes);
}

}  // namespace

void copy(Machine& machine, void* to, const void* from, std::uint64_t bytes) {
  if (bytes == 0) return;
  const auto target = reinterpret_cast<std::uint64_t>(to);
  const auto source = reinterpret_cast<std::uint64_t>(from);
  Device* to_gpu = machine.owner(target);
  Device* from_gpu = machine.owner(source);
  if (!to_gpu && !from_gpu) {
    std::memmove(to, from, bytes);
    return;
  }
  if (!to_gpu) return read_to_host(*from_gpu, to, source, bytes);
  Values& values = to_gpu->memory.values();
  if (bytes > kSmall || !looks_at_copies) return values.set(target, bytes, Knowledge::Unknown);
  const Knowledge known =
      from_gpu ? from_gpu->memory.values().least(source, bytes) : Knowledge::Known;
  values.set(target, bytes, known);
  if (known == Knowledge::Unknown) return;
  std::memmove(AddressSpace::twin(target), from_gpu ? AddressSpace::twin(source) : from, bytes);
}

void look_at_copies(bool look) { looks_at_copies = look; }

void fill(Machine& machine, void* to, int value, std::uint64_t bytes) {
  const auto target = reinterpret_cast<std::uint64_t>(to);
  Device* gpu = machine.owner(target);
  if (!gpu) {
    if (bytes <= kSmall) std::memset(to, value, bytes);
    return;
  }
  const bool small = bytes <= kSmall;
  gpu->memory.values().set(target, bytes, small ? Knowledge::Known : Knowledge::Unknown);
  if (small) std::memset(AddressSpace::twin(target), value, bytes);
}

std::uint64_t unknown_reads() { return reads_of_unknown; }
void note_unknown_read() { ++reads_of_unknown; }

void next_read(std::int64_t value) { expected_reads().push_back(value); }
void no_more_reads() { expected_reads().clear(); }
bool is_read_expected() { return !expected_reads().empty(); }

}  // namespace vramfit::standin
