#include "tests/model/memory/checked_pool.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace vramfit {
namespace {

// Said again rather than taken from the pool, so that they do not move with it.
constexpr std::uint64_t kAlignment = 256;
constexpr std::uint64_t kGranularity = 2 << 20;

std::uint64_t up_to_multiple(std::uint64_t value, std::uint64_t step) {
  while (value % step != 0) value += step - value % step;
  return value;
}

}  // namespace

CheckedPool::Ranges CheckedPool::gaps() const {
  Ranges result;
  std::uint64_t end = 0;
  for (const auto& [offset, bytes] : live_) {
    if (offset > end) result.push_back({end, offset});
    end = offset + bytes;
  }
  if (pool_.reserved() > end) result.push_back({end, pool_.reserved()});
  return result;
}

void CheckedPool::expect_consistent() const {
  Ranges free;
  for (const Pool::Range& range : pool_.free_ranges()) free.push_back({range.offset, range.end()});
  // Gaps between live blocks never touch, so that equality says that coalescing is complete, and
  // that no byte is lost or handed out twice.
  ASSERT_EQ(free, gaps());
  ASSERT_EQ(pool_.reserved() % kGranularity, 0);
  ASSERT_LE(pool_.reserved(), source_.capacity());
}

std::optional<Block> CheckedPool::allocate(std::uint64_t bytes, Placement placement) {
  const std::uint64_t size = up_to_multiple(std::max<std::uint64_t>(bytes, 1), kAlignment);
  const Ranges free = gaps();
  const bool fits = std::any_of(free.begin(), free.end(),
                                [&](const auto& gap) { return gap.to - gap.from >= size; });
  const std::uint64_t before = pool_.reserved();
  const std::uint64_t at_end =
      !free.empty() && free.back().to == before ? before - free.back().from : 0;
  const std::uint64_t after = fits ? before : before + up_to_multiple(size - at_end, kGranularity);
  const bool exists = fits || (after <= source_.capacity() && !source_.exhausted);

  source_.forget();
  std::optional<Block> block;
  try {
    block = pool_.allocate(bytes, placement);
  } catch (const OutOfMemory& error) {
    EXPECT_FALSE(exists) << bytes << " bytes were there";
    EXPECT_EQ(pool_.reserved(), before);
    EXPECT_TRUE(source_.grown.empty());
    EXPECT_TRUE(source_.allocated.empty());
    EXPECT_EQ(error.capacity(), source_.capacity());
    EXPECT_EQ(error.reserved(), before);
    EXPECT_TRUE(source_.exhausted || error.requested() >= bytes);
    expect_consistent();
    return std::nullopt;
  }
  EXPECT_TRUE(exists) << bytes << " bytes were not there";
  EXPECT_EQ(pool_.reserved(), after);
  EXPECT_EQ(source_.grown, fits ? Ranges{} : (Ranges{{before, after}}));
  EXPECT_EQ(source_.allocated, (Ranges{{block->offset, block->offset + block->bytes}}));
  EXPECT_TRUE(source_.freed.empty());

  EXPECT_EQ(block->offset % kAlignment, 0);
  EXPECT_EQ(block->bytes, size);
  EXPECT_LE(block->offset + block->bytes, after);
  const auto next = live_.lower_bound(block->offset);
  EXPECT_TRUE(next == live_.end() || block->offset + size <= next->first) << "overlaps the next";
  EXPECT_TRUE(next == live_.begin() ||
              std::prev(next)->first + std::prev(next)->second <= block->offset)
      << "overlaps the one before";
  live_[block->offset] = size;
  expect_consistent();
  return block;
}

void CheckedPool::free(const Block& block) {
  source_.forget();
  const std::uint64_t before = pool_.reserved();
  // free() must not throw, so it must not allocate either.
  const std::size_t room = pool_.free_ranges().capacity();
  pool_.free(block);
  EXPECT_EQ(pool_.free_ranges().capacity(), room);
  EXPECT_EQ(pool_.reserved(), before);
  EXPECT_EQ(source_.freed, (Ranges{{block.offset, block.offset + block.bytes}}));
  EXPECT_TRUE(source_.allocated.empty());
  EXPECT_TRUE(source_.grown.empty());
  live_.erase(block.offset);
  expect_consistent();
}

}  // namespace vramfit
