#include "model/memory/driver_addresses.h"

#include <algorithm>
#include <iterator>

#include "model/errors.h"

namespace vramfit {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kPage = 2 * kMiB;
constexpr std::uint64_t kRegionUnit = 32 * kMiB;

// Where the first segment is put, if it has 2 MiB; all else lies as seen from it.
constexpr std::uint64_t kFirst = std::uint64_t{1} << 62;

// The context's region begins with what kernels keep on their stacks. The first kernel's is for
// larger ones, and the others' room is free from then on, and newer than what is left around it; so
// is what is left above its own.
constexpr Span kContext = {kFirst - 414 * kMiB, 512 * kMiB};
constexpr Span kFirstHole = {kFirst, 2 * kMiB};
constexpr Span kSecondHole = {kFirst + 74 * kMiB, 24 * kMiB};
constexpr Span kStacks = {kContext.offset, 414 * kMiB};
constexpr std::uint64_t kFirstKernel = 512 * kMiB;
constexpr std::uint64_t kAboveItsStacks = 6 * kMiB;

}  // namespace

DriverAddresses::DriverAddresses()
    : regions_{{kContext, FreeSpans({kFirstHole, kSecondHole}), true}},
      gaps_{{0, kContext.offset}},
      most_(kSecondHole.bytes) {}

void DriverAddresses::load(DriverCode code) {
  const auto pages = [this](int count) {
    for (int i = 0; i < count; ++i) take(kPage);
  };
  switch (code) {
    case DriverCode::FirstKernel:
      load_first_kernel();
      break;
    case DriverCode::Asserts:
      take(10 * kMiB);
      break;
    case DriverCode::Blas:
      pages(1);
      take(64 * kMiB);
      break;
    case DriverCode::BlasHandle:
      take(64 * kMiB);
      break;
    case DriverCode::Attention:
      pages(5);
      break;
    case DriverCode::BackwardAttention:
      pages(9);
      break;
    case DriverCode::Other:
      break;
  }
}

void DriverAddresses::load_first_kernel() {
  take(kPage);
  regions_.push_back({kStacks, FreeSpans({kStacks}), true});
  const Span own = make_region(kFirstKernel).span;
  const Span left = {own.end() - kAboveItsStacks, kAboveItsStacks};
  regions_.push_back({own, FreeSpans({left}), true});
  most_ = std::max(most_, kStacks.bytes);
}

std::uint64_t DriverAddresses::take(std::uint64_t bytes) {
  if (bytes <= most_) {
    for (auto region = regions_.rbegin(); region != regions_.rend(); ++region) {
      if (const auto offset = region->free.take(bytes)) return *offset;
    }
    most_ = bytes - 1;
  }
  Region& region = regions_.emplace_back(make_region(bytes));
  const std::uint64_t offset = *region.free.take(bytes);
  most_ = std::max(most_, region.free.largest());
  return offset;
}

DriverAddresses::Region DriverAddresses::make_region(std::uint64_t bytes) {
  const std::uint64_t whole = (bytes + kRegionUnit - 1) / kRegionUnit * kRegionUnit;
  const auto gap = std::find_if(gaps_.begin(), gaps_.end(), [whole](const Span& each) {
    return each.bytes >= whole + kRegionUnit;
  });
  if (gap == gaps_.end()) {
    throw BadInput("sizes: more than there are addresses for; a smaller batch, seq or model");
  }
  gap->bytes -= whole;
  const Span span = {gap->end(), whole};
  return {span, FreeSpans({span}), false};
}

void DriverAddresses::give(std::uint64_t offset, std::uint64_t bytes) {
  // The newest are freed most often.
  const auto region =
      std::find_if(regions_.rbegin(), regions_.rend(), [offset](const Region& each) {
        return each.span.offset <= offset && offset < each.span.end();
      });
  region->free.give({offset, bytes});
  most_ = std::max(most_, region->free.largest());
  if (region->stays || region->free.largest() < region->span.bytes) return;
  add_gap(region->span);
  regions_.erase(std::next(region).base());
}

void DriverAddresses::add_gap(Span span) {
  auto lower = std::find_if(gaps_.begin(), gaps_.end(),
                            [&](const Span& gap) { return gap.offset < span.offset; });
  if (lower->end() == span.offset) {
    lower->bytes += span.bytes;
  } else {
    lower = gaps_.insert(lower, span);
  }
  if (lower == gaps_.begin()) return;
  const auto upper = std::prev(lower);
  if (lower->end() != upper->offset) return;
  upper->offset = lower->offset;
  upper->bytes += lower->bytes;
  gaps_.erase(lower);
}

}  // namespace vramfit
