#include "standin/memory/device_memory.h"

#include <algorithm>
#include <iterator>

namespace vramfit::standin {
namespace {

std::uint64_t round_up(std::uint64_t n, std::uint64_t unit) { return (n + unit - 1) / unit * unit; }

// The driver's own addresses are counted downwards from here, the first segment's.
constexpr std::uint64_t kDriversFirst = std::uint64_t{1} << 62;
constexpr std::uint64_t kOurFirst = AddressSpace::kBytes / 4;
constexpr std::uint64_t kReservations = AddressSpace::kBytes / 2;

}  // namespace

std::uint64_t DeviceMemory::free_bytes() const {
  const std::uint64_t lost = taken_ + used();
  return lost < total_ ? total_ - lost : 0;
}

void DeviceMemory::remember_peak() { peak_ = std::max(peak_, used()); }

void DeviceMemory::load(DriverCode code, std::uint64_t bytes) {
  libraries_ += bytes;
  loads_.push_back({code, bytes, made_});
  remember_peak();
  addresses_.load(code);
}

std::optional<std::uint64_t> DeviceMemory::place(std::uint64_t bytes) {
  if (bytes < kPage) {
    if (const auto offset = small_.take(bytes)) return offset;
    const auto page = place(kPage);
    if (!page) return std::nullopt;
    small_.add_page(*page);
    return small_.take(bytes);
  }
  if (bytes > free_bytes()) return std::nullopt;
  mapped_ += bytes;
  remember_peak();
  return addresses_.take(bytes);
}

std::uint64_t DeviceMemory::allocate(std::uint64_t bytes) {
  const std::uint64_t unit = bytes < kPage ? SmallAllocations::kUnit : kPage;
  const std::uint64_t whole = round_up(std::max(bytes, std::uint64_t{1}), unit);
  const auto offset = place(whole);
  if (!offset) return 0;
  const std::uint64_t address = space_.begin() + kOurFirst + (*offset - kDriversFirst);
  allocations_[address] = whole;
  ++made_;
  return address;
}

bool DeviceMemory::free(std::uint64_t address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return false;
  const std::uint64_t bytes = found->second;
  allocations_.erase(found);
  Span span = {address - space_.begin() - kOurFirst + kDriversFirst, bytes};
  if (bytes < kPage) {
    values_.set(address, bytes, Knowledge::Unknown);
    const auto page = small_.give(span.offset, bytes);
    if (!page) return true;
    span = {*page, kPage};
  }
  mapped_ -= span.bytes;
  addresses_.give(span.offset, span.bytes);
  const std::uint64_t first = space_.begin() + kOurFirst + (span.offset - kDriversFirst);
  values_.set(first, span.bytes, Knowledge::Unknown);
  AddressSpace::forget(first, span.bytes);
  return true;
}

bool DeviceMemory::take_pages(std::uint64_t bytes) {
  if (bytes > free_bytes()) return false;
  pages_ += bytes;
  remember_peak();
  return true;
}

std::uint64_t DeviceMemory::reserve_addresses(std::uint64_t bytes, std::uint64_t alignment) {
  const std::uint64_t unit = std::max(alignment, kPage);
  const std::uint64_t at = round_up(space_.begin() + kReservations + reserved_addresses_, unit);
  const std::uint64_t end = at + round_up(bytes, kPage);
  if (end > space_.begin() + AddressSpace::kBytes) return 0;
  reserved_addresses_ = end - space_.begin() - kReservations;
  return at;
}

DeviceMemory::Range DeviceMemory::around(std::uint64_t address) const {
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return {};
  const auto& [first, bytes] = *std::prev(after);
  return address - first < bytes ? Range{first, bytes} : Range{};
}

}  // namespace vramfit::standin
