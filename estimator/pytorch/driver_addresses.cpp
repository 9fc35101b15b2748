#include "estimator/pytorch/driver_addresses.h"

#include <iterator>

namespace vramfit::pytorch {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kTop = std::uint64_t{1} << 62;
constexpr std::uint64_t kInitialRegion = 416 * kMiB;
constexpr std::uint64_t kBelowInitialRegion = 6 * kMiB;
constexpr std::uint64_t kRegionUnit = 32 * kMiB;

}  // namespace

DriverAddresses::DriverAddresses() : lowest_(kTop - kInitialRegion - kRegionUnit) {
  holes_[kTop - kInitialRegion] = kInitialRegion;
  holes_[kTop - kInitialRegion - kBelowInitialRegion] = kBelowInitialRegion;
}

std::uint64_t DriverAddresses::take(std::uint64_t bytes) {
  if (first_) {
    first_ = false;
    return kTop;
  }
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    if (hole->second < bytes) continue;
    const auto [offset, size] = *hole;
    holes_.erase(hole);
    if (size > bytes) holes_[offset + bytes] = size - bytes;
    return offset;
  }
  const std::uint64_t region = (bytes + kRegionUnit - 1) / kRegionUnit * kRegionUnit;
  lowest_ -= region;
  if (region > bytes) holes_[lowest_ + bytes] = region - bytes;
  return lowest_;
}

void DriverAddresses::give(std::uint64_t offset, std::uint64_t bytes) {
  auto hole = holes_.emplace(offset, bytes).first;
  const auto next = std::next(hole);
  if (next != holes_.end() && next->first == offset + hole->second) {
    hole->second += next->second;
    holes_.erase(next);
  }
  if (hole == holes_.begin()) return;
  const auto previous = std::prev(hole);
  if (previous->first + previous->second != offset) return;
  previous->second += hole->second;
  holes_.erase(hole);
}

}  // namespace vramfit::pytorch
