#include "standin/kernels/counts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "standin/copies.h"
#include "standin/kernels/kernels.h"
#include "standin/machine.h"

namespace vramfit::standin {
namespace {

struct Element {
  std::size_t bytes = 0;
  Kind kind = Kind::Integer;
};

/// Of NonZeroOp<T> by T's letter in a mangled name; 0 bytes where the kernel is another.
Element counted(std::string_view name) {
  constexpr std::string_view kOp = "NonZeroOpI";
  const auto at = name.find(kOp);
  if (at == name.npos || name.find("DeviceReduce") == name.npos) return {};
  switch (name[at + kOp.size()]) {
    case 'b':
    case 'h':
    case 'a':
      return {1, Kind::Integer};
    case 's':
      return {2, Kind::Integer};
    case 'i':
      return {4, Kind::Integer};
    case 'l':
      return {8, Kind::Integer};
    case 'f':
      return {4, Kind::Float};
    case 'd':
      return {8, Kind::Float};
    default:
      return {2, Kind::Float};  // Half and BFloat16, by their names
  }
}

}  // namespace

void count_for(Machine& machine, const Kernel& kernel, void** arguments) {
  const Element element = counted(kernel.name);
  if (element.bytes == 0 || is_read_expected()) return;
  std::uint64_t input = 0;
  std::uint32_t items = 0;  // of a wider one the lower half
  std::memcpy(&input, arguments[0], sizeof input);
  std::memcpy(&items, arguments[2], sizeof items);
  const std::uint64_t bytes = items * element.bytes;
  Device* gpu = machine.owner(input);
  if (!gpu || bytes > kSmall ||
      gpu->memory.values().least(input, bytes, element.kind) == Knowledge::Unknown) {
    note_unknown_read();
    return next_read(items);
  }
  const std::byte* values = AddressSpace::twin(input);
  std::int64_t count = 0;
  for (std::uint64_t at = 0; at < bytes; at += element.bytes) {
    count += std::any_of(values + at, values + at + element.bytes,
                         [](std::byte b) { return b != std::byte{0}; });
  }
  next_read(count);
}

}  // namespace vramfit::standin
