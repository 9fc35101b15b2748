#include "runtimes/pytorch/torch/memory/caching_allocator.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "model/errors.h"

namespace vramfit::pytorch {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;

TEST(CachingAllocator, RoundsTo512Bytes) {
  CachingAllocator allocator;
  EXPECT_EQ(allocator.allocate(0).bytes, 512U);
  EXPECT_EQ(allocator.allocate(1).bytes, 512U);
  EXPECT_EQ(allocator.allocate(513).bytes, 1024U);
  EXPECT_EQ(allocator.allocated(), 2048U);
}

TEST(CachingAllocator, TakesSegmentsBySize) {
  const auto reserved_by = [](std::uint64_t bytes) {
    CachingAllocator allocator;
    allocator.allocate(bytes);
    return allocator.reserved();
  };
  EXPECT_EQ(reserved_by(1), 2 * kMiB);
  EXPECT_EQ(reserved_by(kMiB), 2 * kMiB);
  EXPECT_EQ(reserved_by(kMiB + 1), 20 * kMiB);
  EXPECT_EQ(reserved_by(10 * kMiB - 512), 20 * kMiB);
  EXPECT_EQ(reserved_by(10 * kMiB), 10 * kMiB);
  EXPECT_EQ(reserved_by(10 * kMiB + 1), 12 * kMiB);
}

TEST(CachingAllocator, KeepsARestOfUpToOneMebibyteInALargeBlock) {
  CachingAllocator allocator;
  EXPECT_EQ(allocator.allocate(19 * kMiB).bytes, 20 * kMiB);  // 19 MiB round up to 20
  EXPECT_EQ(allocator.allocate(20 * kMiB - 512).bytes, 20 * kMiB);
  CachingAllocator another;
  const Block first = another.allocate(2 * kMiB);  // of a segment of 20 MiB
  EXPECT_EQ(first.bytes, 2 * kMiB);
  EXPECT_EQ(another.allocate(9 * kMiB).bytes, 9 * kMiB);
  EXPECT_EQ(another.allocate(8 * kMiB).bytes, 9 * kMiB);  // the rest, whole
  EXPECT_EQ(another.reserved(), 20 * kMiB);
}

TEST(CachingAllocator, WhatIsAskedAtMostLeavesOutRests) {
  CachingAllocator allocator;
  allocator.set_most_asked(30 * kMiB);
  const Block first = allocator.allocate(19 * kMiB);
  EXPECT_EQ(first.bytes, 20 * kMiB);
  const Block second = allocator.allocate(11 * kMiB);
  EXPECT_EQ(allocator.allocated(), 32 * kMiB);
  EXPECT_THROW(allocator.allocate(1), OutOfMemory);
  allocator.free(first);
  EXPECT_NO_THROW(allocator.allocate(19 * kMiB));
  allocator.free(second);
}

TEST(CachingAllocator, OfBlocksAsLargeTheLowestOrOneOfTheOldestSegmentIsTaken) {
  using Among = CachingAllocator::Among;
  const auto taken_behind = [](Among among) {
    CachingAllocator allocator(~std::uint64_t{0}, among);
    std::vector<Block> blocks;  // two in each segment of 20 MiB, of which 4 MiB are left
    for (int i = 0; i < 4; ++i) blocks.push_back(allocator.allocate(8 * kMiB));
    EXPECT_LT(blocks[2].offset, blocks[0].offset) << "the driver goes down";
    const std::uint64_t left = allocator.allocate(4 * kMiB).offset;
    const auto behind = [&](std::size_t i) { return left == blocks[i].offset + 8 * kMiB; };
    return behind(1) ? 1 : behind(3) ? 3 : -1;
  };
  EXPECT_EQ(taken_behind(Among::Addresses), 3);
  EXPECT_EQ(taken_behind(Among::Segments), 1);
}

TEST(CachingAllocator, AStreamReusesItsOwnBlocksAlone) {
  CachingAllocator allocator;
  const Block first = allocator.allocate(30 * kMiB);
  allocator.free(first);
  allocator.use(Stream::ReduceScatter);
  const Block second = allocator.allocate(30 * kMiB);
  EXPECT_EQ(allocator.reserved(), 60 * kMiB);
  allocator.free(second);
  EXPECT_EQ(allocator.allocate(20 * kMiB).offset, second.offset);
  allocator.use(Stream::Default);
  EXPECT_EQ(allocator.allocate(30 * kMiB).offset, first.offset);
  EXPECT_EQ(allocator.reserved(), 60 * kMiB);
}

TEST(CachingAllocator, MemoryThatRunsOutComesFromEveryStream) {
  CachingAllocator allocator(64 * kMiB);
  allocator.use(Stream::AllGatherCopyIn);
  allocator.free(allocator.allocate(40 * kMiB));
  allocator.use(Stream::Default);
  allocator.allocate(40 * kMiB);
  EXPECT_EQ(allocator.reserved(), 40 * kMiB);
}

/// Where a block of that size would be taken from: the smallest free one that holds it, the lowest
/// among equals.
std::optional<std::uint64_t> best_fit(const CachingAllocator& allocator, std::uint64_t bytes) {
  std::optional<std::pair<std::uint64_t, std::uint64_t>> best;
  for (const CachingAllocator::SegmentView& segment : allocator.segments()) {
    if (segment.small != (bytes <= kMiB)) continue;
    for (const CachingAllocator::BlockView& block : segment.blocks) {
      if (block.in_use || block.bytes < bytes) continue;
      const std::pair size_and_offset{block.bytes, block.offset};
      if (!best || size_and_offset < *best) best = size_and_offset;
    }
  }
  return best ? std::optional(best->second) : std::nullopt;
}

TEST(CachingAllocator, TakesTheBestFitWhateverIsFree) {
  std::mt19937 random(1);
  CachingAllocator allocator;
  std::vector<Block> blocks;
  int reused = 0;
  for (int i = 0; i < 4000; ++i) {
    if (!blocks.empty() && random() % 100 < 48) {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      allocator.free(blocks.back());
      blocks.pop_back();
      continue;
    }
    // Many of few sizes, and a few of any.
    const std::uint64_t unit = std::uint64_t{512} << random() % 16;
    const std::uint64_t bytes = random() % 4 == 0 ? unit * (1 + random() % 9) : unit;
    const auto expected = best_fit(allocator, bytes);
    blocks.push_back(allocator.allocate(bytes));
    ASSERT_EQ(blocks.back().offset, expected.value_or(blocks.back().offset)) << i;
    reused += expected ? 1 : 0;
  }
  EXPECT_GT(reused, 1000);
}

TEST(CachingAllocator, TakesTheSmallestThatFitsAndMergesWhatComesBack) {
  CachingAllocator allocator;
  const Block a = allocator.allocate(4 * kMiB);
  const Block b = allocator.allocate(6 * kMiB);
  const Block c = allocator.allocate(2 * kMiB);
  allocator.free(a);
  allocator.free(c);                                         // with the rest behind it: 10 MiB
  EXPECT_EQ(allocator.allocate(3 * kMiB).offset, a.offset);  // and keeps its fourth
  allocator.free(b);
  EXPECT_EQ(allocator.allocate(15 * kMiB).bytes, 16 * kMiB);  // all that lies behind it
  EXPECT_EQ(allocator.reserved(), 20 * kMiB);
}

TEST(CachingAllocator, SmallAndLargeDoNotMix) {
  CachingAllocator allocator;
  allocator.free(allocator.allocate(4 * kMiB));
  allocator.allocate(512);
  EXPECT_EQ(allocator.reserved(), 22 * kMiB);
}

TEST(CachingAllocator, GivesBackWhatIsCachedBeforeItGivesUp) {
  CachingAllocator allocator(64 * kMiB);
  allocator.free(allocator.allocate(40 * kMiB));
  const Block kept = allocator.allocate(2 * kMiB);
  EXPECT_EQ(allocator.reserved(), 40 * kMiB);
  allocator.free(kept);
  allocator.allocate(44 * kMiB);
  EXPECT_EQ(allocator.reserved(), 44 * kMiB);
  EXPECT_EQ(allocator.peak_reserved(), 44 * kMiB);
  EXPECT_THROW(allocator.allocate(30 * kMiB), OutOfMemory);
  EXPECT_EQ(allocator.allocated(), 44 * kMiB);
}

/// What a memory snapshot must show at any time.
void expect_sound(const CachingAllocator& allocator) {
  std::uint64_t reserved = 0;
  std::uint64_t allocated = 0;
  std::uint64_t end = 0;
  for (const auto& segment : allocator.segments()) {
    EXPECT_GE(segment.offset, end) << "segments overlap";
    std::uint64_t at = segment.offset;
    bool free_before = false;
    for (const auto& block : segment.blocks) {
      EXPECT_EQ(block.offset, at) << "blocks leave gaps or overlap";
      EXPECT_EQ(block.bytes % 512, 0U);
      EXPECT_FALSE(free_before && !block.in_use) << "neighbours are not merged";
      free_before = !block.in_use;
      if (block.in_use) allocated += block.bytes;
      at += block.bytes;
    }
    EXPECT_EQ(at, segment.offset + segment.bytes);
    reserved += segment.bytes;
    end = at;
  }
  EXPECT_EQ(reserved, allocator.reserved());
  EXPECT_EQ(allocated, allocator.allocated());
}

TEST(CachingAllocator, StaysSoundWhateverIsAsked) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const std::uint64_t capacity = (64 + random() % 192) * kMiB;
    CachingAllocator allocator(capacity);
    std::vector<Block> blocks;
    for (int i = 0; i < 400; ++i) {
      if (!blocks.empty() && random() % 5 < 2) {
        const std::size_t at = random() % blocks.size();
        allocator.free(blocks[at]);
        blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        const std::uint64_t bytes = random() % (std::uint64_t{1} << (4 + random() % 22));
        try {
          const Block block = allocator.allocate(bytes);
          EXPECT_GE(block.bytes, bytes);
          blocks.push_back(block);
        } catch (const OutOfMemory& e) {
          EXPECT_EQ(e.requested(), bytes);
        }
      }
      if (random() % 100 == 0) allocator.empty_cache();
      EXPECT_LE(allocator.reserved(), capacity);
      expect_sound(allocator);
    }
    for (const Block& block : blocks) allocator.free(block);
    allocator.empty_cache();
    EXPECT_EQ(allocator.reserved(), 0U);
    EXPECT_TRUE(allocator.segments().empty());
  }
}

}  // namespace
}  // namespace vramfit::pytorch
