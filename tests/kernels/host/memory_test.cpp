#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kernels/cpu/host_source.h"
#include "kernels/cpu/pass_through.h"
#include "model/errors.h"
#include "model/memory/pool.h"

namespace vramfit {
namespace {

constexpr std::uint64_t kGrain = Pool::kGranularity;

float first_float(const Block& block) {
  float value = 0;
  std::memcpy(&value, block.data, sizeof value);
  return value;
}

TEST(HostSource, BacksAPoolUpToItsCapacity) {
  HostSource source(2 * kGrain);
  Pool pool(source);
  const Block a = pool.allocate(kGrain);
  const Block b = pool.allocate(kGrain);
  std::memset(a.data, 1, kGrain);
  std::memset(b.data, 2, kGrain);
  EXPECT_EQ(b.data - a.data, static_cast<std::ptrdiff_t>(kGrain));
  EXPECT_THROW(pool.allocate(1), OutOfMemory);
  EXPECT_EQ(pool.reserved(), 2 * kGrain);
  pool.free(a);
  pool.free(b);
}

TEST(HostSource, MayHaveNoBytesAtAll) {
  HostSource source(0);
  Pool pool(source);
  EXPECT_THROW(pool.allocate(1), OutOfMemory);
}

TEST(HostSource, HandsOutNaNs) {
  HostSource source;
  Pool pool(source);
  const Block fresh = pool.allocate(64);
  EXPECT_TRUE(std::isnan(first_float(fresh)));
  std::memset(fresh.data, 0, 64);
  pool.free(fresh);
  const Block reused = pool.allocate(64);
  ASSERT_EQ(reused.data, fresh.data);
  EXPECT_TRUE(std::isnan(first_float(reused)));
  pool.free(reused);
}

TEST(HostSource, GrowsOnlyFromItsEnd) {
  HostSource source(8 * kGrain);
  source.grow(0, kGrain);
  EXPECT_THROW(source.grow(0, kGrain), std::logic_error);
  EXPECT_THROW(source.grow(kGrain, 9 * kGrain), std::logic_error);
  EXPECT_NO_THROW(source.grow(kGrain, 8 * kGrain));
}

using HostSourceDeathTest = testing::Test;

TEST(HostSourceDeathTest, MemoryThatHasNotGrownIsNotThere) {
  HostSource source(2 * kGrain);
  Pool pool(source);
  const Block block = pool.allocate(64);
  EXPECT_DEATH(std::memset(source.base() + kGrain, 0, 1), "");
  pool.free(block);
}

TEST(HostSourceDeathTest, FreedMemoryShowsWhenRead) {
  HostSource source;
  Pool pool(source);
  const Block block = pool.allocate(64);
  std::memset(block.data, 0, 64);
  pool.free(block);
#if defined(__SANITIZE_ADDRESS__)
  EXPECT_DEATH(first_float(block), "use-after-poison");
  EXPECT_DEATH(std::memset(source.base() + 256, 0, 1), "use-after-poison") << "never handed out";
#else
  EXPECT_TRUE(std::isnan(first_float(block)));
#endif
}

TEST(PassThrough, CountsBlocksAndKeepsTheHighWaterMark) {
  PassThrough allocator;
  const Block a = allocator.allocate(100);
  const Block b = allocator.allocate(50);
  EXPECT_TRUE(std::isnan(first_float(a)));
  EXPECT_EQ(allocator.reserved(), 150U);
  allocator.free(a);
  const Block c = allocator.allocate(20);
  EXPECT_EQ(allocator.reserved(), 150U);
  EXPECT_EQ(allocator.live(), 2U);
  EXPECT_EQ(c.offset, 2U);
  allocator.free(b);
  allocator.free(c);
  EXPECT_EQ(allocator.live(), 0U);
}

#if defined(__SANITIZE_ADDRESS__)
TEST(PassThroughDeathTest, AnAccessPastTheEndShows) {
  PassThrough allocator;
  const Block block = allocator.allocate(12);
  EXPECT_DEATH(block.data[12] = std::byte{0}, "heap-buffer-overflow");
  allocator.free(block);
}
#endif

}  // namespace
}  // namespace vramfit
