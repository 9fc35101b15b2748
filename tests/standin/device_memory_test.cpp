#include "standin/memory/device_memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace vramfit::standin {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

TEST(DeviceMemory, GivesAsMuchAsThereIsAndNoMore) {
  DeviceMemory memory(100 * kMebibyte, 10 * kMebibyte);
  EXPECT_EQ(memory.free_bytes(), 90 * kMebibyte);
  std::vector<std::uint64_t> had;
  while (const std::uint64_t address = memory.allocate(4 * kMebibyte)) had.push_back(address);
  EXPECT_EQ(had.size(), 22U);
  EXPECT_EQ(memory.free_bytes(), 2 * kMebibyte);
  EXPECT_NE(memory.allocate(2 * kMebibyte), 0U);
  EXPECT_EQ(memory.allocate(1), 0U);
  EXPECT_TRUE(memory.free(had[7]));
  EXPECT_NE(memory.allocate(4 * kMebibyte), 0U);
}

TEST(DeviceMemory, MapsWholePages) {
  DeviceMemory memory(100 * kMebibyte, 0);
  const std::uint64_t address = memory.allocate(2 * kMebibyte + 1);
  EXPECT_EQ(memory.used(), 4 * kMebibyte);
  EXPECT_EQ(memory.around(address + 3 * kMebibyte).address, address);
  EXPECT_EQ(memory.around(address + 4 * kMebibyte).bytes, 0U);
}

TEST(DeviceMemory, AllocationsAreApart) {
  DeviceMemory memory(100 * kMebibyte, 0);
  std::vector<DeviceMemory::Range> ranges;
  for (std::uint64_t bytes = 512; const std::uint64_t address = memory.allocate(bytes);
       bytes = bytes * 3 / 2) {
    EXPECT_TRUE(memory.holds(address));
    for (const DeviceMemory::Range& other : ranges) {
      EXPECT_TRUE(address + bytes <= other.address || other.address + other.bytes <= address);
    }
    ranges.push_back({address, bytes});
  }
  EXPECT_GT(ranges.size(), 20U);
  for (const DeviceMemory::Range& range : ranges) EXPECT_TRUE(memory.free(range.address));
  EXPECT_EQ(memory.used(), 0U);
}

TEST(DeviceMemory, WhatWasNotAllocatedIsNotFreed) {
  DeviceMemory memory(100 * kMebibyte, 0);
  const std::uint64_t address = memory.allocate(4 * kMebibyte);
  EXPECT_FALSE(memory.free(address + 2 * kMebibyte));
  EXPECT_TRUE(memory.free(address));
  EXPECT_FALSE(memory.free(address));
}

TEST(DeviceMemory, PagesWithoutAddressesCount) {
  DeviceMemory memory(100 * kMebibyte, 0);
  const std::uint64_t address = memory.reserve_addresses(std::uint64_t{1} << 40, 2 * kMebibyte);
  EXPECT_TRUE(memory.holds(address));
  EXPECT_EQ(memory.used(), 0U);
  EXPECT_TRUE(memory.take_pages(60 * kMebibyte));
  EXPECT_FALSE(memory.take_pages(60 * kMebibyte));
  EXPECT_EQ(memory.allocate(60 * kMebibyte), 0U);
  memory.give_pages(60 * kMebibyte);
  EXPECT_EQ(memory.free_bytes(), 100 * kMebibyte);
}

TEST(DeviceMemory, ThePeakIsOfWhatCameSinceItWasReset) {
  DeviceMemory memory(100 * kMebibyte, 0);
  ASSERT_TRUE(memory.take_pages(10 * kMebibyte));
  const std::uint64_t address = memory.allocate(50 * kMebibyte);
  memory.free(address);
  EXPECT_EQ(memory.peak_used(), 60 * kMebibyte);
  memory.reset_peak();
  EXPECT_EQ(memory.peak_used(), 10 * kMebibyte);
}

}  // namespace
}  // namespace vramfit::standin
