#include "model/memory/driver_addresses.h"

#include <algorithm>
#include <iterator>

namespace vramfit {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kTop = std::uint64_t{1} << 62;
constexpr std::uint64_t kInitialRegion = 416 * kMiB;
constexpr std::uint64_t kBelowInitialRegion = 6 * kMiB;
constexpr std::uint64_t kRegionUnit = 32 * kMiB;

}  // namespace

DriverAddresses::DriverAddresses()
    : lowest_(kTop - kInitialRegion - kRegionUnit), most_(kInitialRegion) {
  holes_ = {{kTop - kInitialRegion, kInitialRegion},
            {kTop - kInitialRegion - kBelowInitialRegion, kBelowInitialRegion}};
}

std::uint64_t DriverAddresses::take(std::uint64_t bytes) {
  if (first_) {
    first_ = false;
    return kTop;
  }
  const auto hole = bytes > most_
                        ? holes_.rend()
                        : std::find_if(holes_.rbegin(), holes_.rend(),
                                       [bytes](const Hole& h) { return h.bytes >= bytes; });
  if (hole != holes_.rend()) {
    const std::uint64_t offset = hole->offset;
    hole->offset += bytes;
    hole->bytes -= bytes;
    if (hole->bytes == 0) holes_.erase(std::next(hole).base());
    return offset;
  }
  most_ = std::min(most_, bytes - 1);
  const std::uint64_t region = (bytes + kRegionUnit - 1) / kRegionUnit * kRegionUnit;
  lowest_ -= region;
  if (region > bytes) {
    holes_.push_back({lowest_ + bytes, region - bytes});
    most_ = std::max(most_, region - bytes);
  }
  return lowest_;
}

void DriverAddresses::give(std::uint64_t offset, std::uint64_t bytes) {
  most_ = kTop;
  // Before the first hole that is lower.
  auto at = std::find_if(holes_.begin(), holes_.end(),
                         [offset](const Hole& h) { return h.offset < offset; });
  at = holes_.insert(at, {offset, bytes});
  if (at != holes_.begin() && std::prev(at)->offset == at->offset + at->bytes) {
    std::prev(at)->offset = at->offset;
    std::prev(at)->bytes += at->bytes;
    at = std::prev(holes_.erase(at));
  }
  const auto lower = std::next(at);
  if (lower == holes_.end() || lower->offset + lower->bytes != at->offset) return;
  lower->bytes += at->bytes;
  holes_.erase(at);
}

}  // namespace vramfit
