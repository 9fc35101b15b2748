#include "kernels/host/host_memory.h"

#include <gtest/gtest.h>

#include <fstream>

namespace vramfit {
namespace {

/// A file system that says of a machine's memory what a test wants.
class HostMemoryFiles : public testing::Test {
 protected:
  void SetUp() override {
    root = std::filesystem::path(testing::TempDir()) /
           testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(root);
    write("proc/meminfo", "MemTotal:       64 kB\nMemFree:        1 kB\nMemAvailable:   32 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  }

  std::filesystem::path root;
};

TEST_F(HostMemoryFiles, SayWhatIsAvailable) { EXPECT_EQ(available_host_memory(root), 32U << 10); }

TEST_F(HostMemoryFiles, AContainersLimitHoldsWhereItIsLower) {
  write("sys/fs/cgroup/memory.max", "20480\n");
  write("sys/fs/cgroup/memory.current", "5120\n");
  EXPECT_EQ(available_host_memory(root), 15U << 10);
  // What files are cached gives way.
  write("sys/fs/cgroup/memory.stat", "anon 3072\ninactive_file 2048\n");
  EXPECT_EQ(available_host_memory(root), 17U << 10);
  write("sys/fs/cgroup/memory.current", "99999999\n");
  EXPECT_EQ(available_host_memory(root), 0U);
}

TEST_F(HostMemoryFiles, AGroupWithoutALimitHasNone) {
  write("sys/fs/cgroup/memory.max", "max\n");
  write("sys/fs/cgroup/memory.current", "5120\n");
  EXPECT_EQ(available_host_memory(root), 32U << 10);
}

TEST_F(HostMemoryFiles, OfTheFirstVersionAreReadToo) {
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "10240\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "4096\n");
  write("sys/fs/cgroup/memory/memory.stat", "cache 9\ntotal_inactive_file 1024\n");
  EXPECT_EQ(available_host_memory(root), 7U << 10);
}

TEST(HostMemoryOfThisMachine, IsThere) { EXPECT_GT(available_host_memory(), 0U); }

}  // namespace
}  // namespace vramfit
