#include "model/memory/pool.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "tests/model/memory/checked_pool.h"

namespace vramfit {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kPlenty = std::uint64_t{1} << 50;

/// The same numbers everywhere, unlike the standard's distributions.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }

  /// Sizes of all magnitudes, and those on the edges of roundings.
  std::uint64_t size() {
    switch (below(6)) {
      case 0:
        return below(1024);
      case 1:
        return 256 * below(64);
      case 2:
        return below(64 << 10);
      case 3:
        return below(3 * kMiB);
      case 4:
        return 2 * kMiB * (1 + below(3));
      default:
        return 2 * kMiB * (1 + below(2)) + below(3) - 1;
    }
  }
  Placement placement() { return below(4) == 0 ? Placement::Highest : Placement::BestFit; }

 private:
  std::mt19937_64 engine_;
};

/// What a run asks of a pool: sizes to allocate, or which of the live blocks to free.
struct Request {
  bool allocate;
  std::uint64_t bytes;
  Placement placement;
  std::uint64_t which;
};

std::vector<Request> random_requests(std::uint64_t seed, int count) {
  Random random(seed);
  std::vector<Request> requests;
  for (int i = 0; i < count; ++i) {
    requests.push_back(
        {random.below(9) < 5, random.size(), random.placement(), random.below(1 << 30)});
  }
  return requests;
}

/// Offsets of the blocks in order, until memory is out.
std::vector<std::uint64_t> offsets(MemorySource& source, const std::vector<Request>& requests,
                                   std::uint64_t* reserved = nullptr) {
  Pool pool(source);
  std::vector<Block> live;
  std::vector<std::uint64_t> result;
  try {
    for (const Request& request : requests) {
      if (request.allocate) {
        live.push_back(pool.allocate(request.bytes, request.placement));
        result.push_back(live.back().offset);
      } else if (!live.empty()) {
        const auto index = static_cast<std::ptrdiff_t>(request.which % live.size());
        pool.free(live[static_cast<std::size_t>(index)]);
        live.erase(live.begin() + index);
      }
    }
  } catch (const OutOfMemory&) {
  }
  if (reserved != nullptr) *reserved = pool.reserved();
  return result;
}

void expect_agreement(std::uint64_t seed, int& refused) {
  Random random(seed);
  // Some with room for everything, most without; some not a multiple of what pools grow by.
  const std::uint64_t capacity = seed % 4 == 0 ? kPlenty : 8 * kMiB + random.below(48 * kMiB);
  CheckedPool pool(capacity);
  std::vector<Block> live;
  for (int i = 0; i < 600; ++i) {
    pool.set_exhausted(random.below(40) == 0);
    // Tides, so that the pool is now crowded, now nearly empty.
    const bool rising = (i / 50) % 2 == 0;
    if (live.empty() || random.below(10) < (rising ? 7 : 3)) {
      if (const auto block = pool.allocate(random.size(), random.placement())) {
        live.push_back(*block);
      } else {
        ++refused;
      }
    } else {
      // The last, the first, or any.
      const std::uint64_t kind = random.below(4);
      const std::size_t index = kind == 0   ? live.size() - 1
                                : kind == 1 ? 0
                                            : random.below(live.size());
      pool.free(live[index]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(index));
    }
    ASSERT_FALSE(testing::Test::HasFailure()) << "at request " << i;
  }
  while (!live.empty()) {
    pool.free(live.back());
    live.pop_back();
  }
  EXPECT_EQ(pool.live(), 0U);
}

TEST(Pool, AgreesWithAMapOfLiveBlocks) {
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_agreement(seed, refused);
  }
  EXPECT_GT(refused, 1000) << "the sequences hardly met the capacity";
}

TEST(Pool, PlacesTheSameSequenceTheSameWay) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto requests = random_requests(seed, 400);
    RecordingSource a(kPlenty);
    std::array<std::byte, 1> somewhere_else;
    RecordingSource b(kPlenty, somewhere_else.data());
    EXPECT_EQ(offsets(a, requests), offsets(b, requests)) << "seed " << seed;
  }
}

TEST(Pool, PlacesBlocksWhateverTheCapacity) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto requests = random_requests(seed, 400);
    RecordingSource unlimited(kPlenty);
    const auto all = offsets(unlimited, requests);
    for (const std::uint64_t capacity : {5 * kMiB, 16 * kMiB, 40 * kMiB}) {
      RecordingSource limited(capacity);
      const auto some = offsets(limited, requests);
      ASSERT_LE(some.size(), all.size());
      EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin()))
          << "seed " << seed << ", capacity " << capacity;
    }
  }
}

TEST(Pool, CompletesWithWhatAnUnlimitedRunReservedAndNotWithAByteLess) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto requests = random_requests(seed, 400);
    std::uint64_t needed = 0;
    RecordingSource unlimited(kPlenty);
    const auto all = offsets(unlimited, requests, &needed);
    RecordingSource just_enough(needed);
    EXPECT_EQ(offsets(just_enough, requests), all) << "seed " << seed;
    RecordingSource too_small(needed - 1);
    EXPECT_LT(offsets(too_small, requests).size(), all.size()) << "seed " << seed;
  }
}

TEST(Pool, ReservesTheLeastThatHolds) {
  CheckedPool pool(kPlenty);
  const auto first = pool.allocate(1);
  EXPECT_EQ(pool.reserved(), 2 * kMiB);
  const auto rest = pool.allocate(2 * kMiB - 256);
  EXPECT_EQ(pool.reserved(), 2 * kMiB) << "it fits to the byte";
  const auto next = pool.allocate(1);
  EXPECT_EQ(pool.reserved(), 4 * kMiB);
  pool.free(*next);
  // What is free at the end counts towards the next block.
  const auto large = pool.allocate(4 * kMiB);
  EXPECT_EQ(pool.reserved(), 6 * kMiB);
  pool.free(*rest);
  pool.free(*first);
  pool.free(*large);
  EXPECT_EQ(pool.reserved(), 6 * kMiB) << "what is reserved stays";
}

TEST(Pool, RunsOutAtTheByte) {
  CheckedPool pool(4 * kMiB + 255);  // what is beyond a multiple of the granularity is of no use
  EXPECT_FALSE(pool.allocate(4 * kMiB + 1));
  const auto all = pool.allocate(4 * kMiB);
  ASSERT_TRUE(all);
  EXPECT_FALSE(pool.allocate(0)) << "even nothing takes a place of its own";
  pool.free(*all);
  EXPECT_TRUE(pool.allocate(4 * kMiB - 255)) << "what came back is there again";
}

TEST(Pool, HandsOutTheWholeCapacity) {
  CheckedPool pool(4 * kMiB);
  EXPECT_TRUE(pool.allocate(4 * kMiB));
}

TEST(Pool, RefusesSizesThatRoundingWouldWrap) {
  RecordingSource source(kPlenty);
  Pool pool(source);
  for (const std::uint64_t bytes : {UINT64_MAX, UINT64_MAX - 255, UINT64_MAX / 2, kPlenty + 1}) {
    EXPECT_THROW(pool.allocate(bytes), OutOfMemory) << bytes;
    EXPECT_EQ(pool.reserved(), 0U);
  }
}

TEST(Pool, SaysWhatWasAskedForAndWhatThereWas) {
  RecordingSource source(4 * kMiB);
  Pool pool(source);
  pool.allocate(3 * kMiB);
  try {
    pool.allocate(2 * kMiB);
    FAIL() << "it was not there";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.requested(), 2 * kMiB);
    EXPECT_EQ(error.reserved(), 4 * kMiB);
    EXPECT_EQ(error.capacity(), 4 * kMiB);
    EXPECT_STREQ(error.what(),
                 "out of memory: 2097152 bytes asked for with 4194304 of 4194304 mapped");
  }
}

TEST(Pool, PointsIntoTheSourcesRange) {
  std::array<std::byte, 4096> memory;
  RecordingSource source(kPlenty, memory.data());
  Pool pool(source);
  const Block a = pool.allocate(300);
  const Block b = pool.allocate(1);
  EXPECT_EQ(a.data, memory.data() + a.offset);
  EXPECT_EQ(b.data, memory.data() + b.offset);
  EXPECT_NE(a.data, b.data);

  RecordingSource nothing(kPlenty);
  Pool virtual_pool(nothing);
  EXPECT_EQ(virtual_pool.allocate(300).data, nullptr);
}

}  // namespace
}  // namespace vramfit
