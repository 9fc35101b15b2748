#include "model/memory/pool.h"

#include <algorithm>

#include "model/checked.h"
#include "model/errors.h"

namespace vramfit {

Block Pool::allocate(std::uint64_t bytes, Placement placement) {
  // Past the capacity nothing fits, and the roundings below could wrap.
  if (bytes > source_.capacity()) throw OutOfMemory(bytes, reserved_, source_.capacity());
  const std::uint64_t size = round_up(std::max(bytes, std::uint64_t{1}), kAlignment);

  // So that free(), which must not throw, never has to allocate: live blocks part at most this many
  // free ranges.
  if (free_.capacity() < live_ + 3) free_.reserve(2 * live_ + 16);

  const bool high = placement == Placement::Highest;
  Iterator range = high ? highest_fit(size) : best_fit(size);
  if (range == free_.end()) range = grow_to_fit(size);

  const std::uint64_t offset = high ? range->end() - size : range->offset;
  if (!high) range->offset += size;
  range->bytes -= size;
  if (range->bytes == 0) free_.erase(range);
  ++live_;
  source_.on_allocate(offset, size);
  std::byte* base = source_.base();
  return {offset, size, base == nullptr ? nullptr : base + offset, handed_out_++};
}

void Pool::free(const Block& block) noexcept {
  --live_;
  source_.on_free(block.offset, block.bytes);
  insert_coalesced({block.offset, block.bytes});
}

Pool::Iterator Pool::best_fit(std::uint64_t bytes) {
  auto best = free_.end();
  std::uint64_t least = ~std::uint64_t{0} / 2;  // that is left; where it does not fit, it wraps
  for (auto range = free_.begin(); range != free_.end() && least > 0; ++range) {
    const std::uint64_t left = range->bytes - bytes;
    if (left >= least) continue;
    least = left;
    best = range;
  }
  return best;
}

Pool::Iterator Pool::highest_fit(std::uint64_t bytes) {
  const auto fits = [bytes](const Range& range) { return range.bytes >= bytes; };
  const auto highest = std::find_if(free_.rbegin(), free_.rend(), fits);
  return highest == free_.rend() ? free_.end() : std::prev(highest.base());
}

Pool::Iterator Pool::grow_to_fit(std::uint64_t bytes) {
  const bool touches_end = !free_.empty() && free_.back().end() == reserved_;
  const std::uint64_t at_end = touches_end ? free_.back().bytes : 0;
  const std::uint64_t grown = reserved_ + round_up(bytes - at_end, kGranularity);
  if (grown > source_.capacity()) throw OutOfMemory(bytes, reserved_, source_.capacity());
  source_.grow(reserved_, grown);
  const Range added{reserved_, grown - reserved_};
  reserved_ = grown;
  return insert_coalesced(added);
}

Pool::Iterator Pool::insert_coalesced(Range range) {
  auto next =
      std::lower_bound(free_.begin(), free_.end(), range.offset,
                       [](const Range& r, std::uint64_t offset) { return r.offset < offset; });
  if (next != free_.begin() && std::prev(next)->end() == range.offset) {
    const auto previous = std::prev(next);
    previous->bytes += range.bytes;
    if (next != free_.end() && previous->end() == next->offset) {
      previous->bytes += next->bytes;
      free_.erase(next);
    }
    return previous;
  }
  if (next != free_.end() && range.end() == next->offset) {
    next->offset = range.offset;
    next->bytes += range.bytes;
    return next;
  }
  return free_.insert(next, range);
}

}  // namespace vramfit
