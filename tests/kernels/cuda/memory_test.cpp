#include <cuda_runtime_api.h>

#include <cstring>
#include <limits>

#include "kernels/cuda/base/error.h"
#include "kernels/cuda/memory/pass_through.h"
#include "kernels/cuda/memory/pinned_memory.h"
#include "kernels/cuda/memory/virtual_memory.h"
#include "model/memory/pool.h"
#include "tests/kernels/cuda/support/gpu.h"

namespace vramfit {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class CudaMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    VRAMFIT_NEEDS_GPU();
    gpu();
  }
};

TEST_F(CudaMemoryTest, UsedMovesByExactlyWhatIsMapped) {
  const std::uint64_t before = device_memory().used();
  {
    CudaSource source(1024 * kMiB);
    EXPECT_EQ(source.capacity(), 1024 * kMiB);
    EXPECT_EQ(device_memory().used(), before) << "addresses are not memory";
    std::uint64_t mapped = 0;
    for (const std::uint64_t bytes : {2 * kMiB, 32 * kMiB, 2 * kMiB, 254 * kMiB, 512 * kMiB}) {
      source.grow(mapped, mapped + bytes);
      mapped += bytes;
      EXPECT_EQ(device_memory().used(), before + mapped);
    }
  }
  EXPECT_EQ(device_memory().used(), before);
}

TEST_F(CudaMemoryTest, IsOneRangeThatCanBeReadAndWritten) {
  CudaSource source(64 * kMiB);
  source.grow(0, 2 * kMiB);
  source.grow(2 * kMiB, 64 * kMiB);
  check(cudaMemset(source.base(), 7, 64 * kMiB), "cudaMemset");
  unsigned char last = 0;
  check(cudaMemcpy(&last, source.base() + 64 * kMiB - 1, 1, cudaMemcpyDeviceToHost), "cudaMemcpy");
  EXPECT_EQ(last, 7);
}

TEST_F(CudaMemoryTest, GrowsFromWhereItEndsWithinItsCapacity) {
  CudaSource source(64 * kMiB);
  source.grow(0, 2 * kMiB);
  EXPECT_THROW(source.grow(0, 4 * kMiB), std::logic_error);
  EXPECT_THROW(source.grow(4 * kMiB, 6 * kMiB), std::logic_error);
  EXPECT_THROW(source.grow(2 * kMiB, 66 * kMiB), std::logic_error);
  EXPECT_THROW(source.grow(2 * kMiB, 3 * kMiB), std::logic_error);
  source.grow(2 * kMiB, 64 * kMiB);
}

TEST_F(CudaMemoryTest, PageLockedMemoryOfTheHostTakesNothingOfTheCard) {
  {
    PinnedSource warm(64 * kMiB);
    warm.grow(0, 64 * kMiB);
  }
  const std::uint64_t before = device_memory().used();
  PinnedSource source(2048 * kMiB);
  source.grow(0, 2 * kMiB);
  source.grow(2 * kMiB, 2048 * kMiB);
  EXPECT_EQ(device_memory().used(), before);
}

TEST_F(CudaMemoryTest, PageLockedMemoryIsCopiedFromAndTo) {
  PinnedSource source(64 * kMiB);
  source.grow(0, 32 * kMiB);
  source.grow(32 * kMiB, 64 * kMiB);
  CudaSource card(64 * kMiB);
  card.grow(0, 2 * kMiB);
  for (std::byte* const at : {source.base(), source.base() + 62 * kMiB}) {
    std::memset(at, 5, 2 * kMiB);
    check(cudaMemcpy(card.base(), at, 2 * kMiB, cudaMemcpyHostToDevice), "cudaMemcpy");
    std::memset(at, 0, 2 * kMiB);
    check(cudaMemcpy(at, card.base(), 2 * kMiB, cudaMemcpyDeviceToHost), "cudaMemcpy");
    EXPECT_EQ(std::to_integer<int>(at[2 * kMiB - 1]), 5);
  }
}

TEST_F(CudaMemoryTest, PageLockedMemoryGrowsFromWhereItEndsWithinItsCapacity) {
  PinnedSource source(64 * kMiB + 1);
  EXPECT_EQ(source.capacity(), 64 * kMiB) << "whole granules";
  source.grow(0, 2 * kMiB);
  EXPECT_THROW(source.grow(0, 4 * kMiB), std::logic_error);
  EXPECT_THROW(source.grow(4 * kMiB, 6 * kMiB), std::logic_error);
  EXPECT_THROW(source.grow(2 * kMiB, 66 * kMiB), std::logic_error);
  source.grow(2 * kMiB, 64 * kMiB);
}

TEST_F(CudaMemoryTest, ACapacityMakesACardSmaller) {
  CudaSource source(6 * kMiB + 1);
  Pool pool(source);
  const Block block = pool.allocate(6 * kMiB);
  EXPECT_EQ(block.data, source.base());
  EXPECT_THROW(pool.allocate(1), OutOfMemory);
  EXPECT_EQ(pool.reserved(), 6 * kMiB);
  pool.free(block);
}

/// The card itself runs out of memory: nothing is lost, and work goes on.
TEST_F(CudaMemoryTest, TheCardRunsOutWithoutHarm) {
  const DeviceMemory before = device_memory();
  {
    CudaSource source(std::numeric_limits<std::uint64_t>::max());
    const std::uint64_t most = before.free / (2 * kMiB) * (2 * kMiB);
    std::uint64_t mapped = 0;
    try {
      while (mapped <= most) {
        const std::uint64_t step = most - mapped > 1024 * kMiB ? 1024 * kMiB : 2 * kMiB;
        source.grow(mapped, mapped + step);
        mapped += step;
      }
      FAIL() << "a card of " << before.total << " bytes gave " << mapped;
    } catch (const OutOfMemory& error) {
      EXPECT_EQ(error.reserved(), mapped);
      EXPECT_GT(mapped, before.free / 10 * 9);
    }
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_EQ(device_memory().used(), before.used() + mapped);
    // What was mapped still works.
    check(cudaMemset(source.base() + mapped - 1, 1, 1), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  EXPECT_EQ(device_memory().used(), before.used());
}

TEST_F(CudaMemoryTest, PassThroughAllocatesEachBlockAndKeepsNone) {
  const std::uint64_t before = device_memory().used();
  {
    CudaPassThrough memory;
    const Block large = memory.allocate(64 * kMiB);
    const Block none = memory.allocate(0);
    EXPECT_EQ(large.offset, 0U);
    EXPECT_EQ(none.offset, 1U);
    EXPECT_NE(none.data, nullptr);
    EXPECT_EQ(memory.live(), 2U);
    memory.free(large);
    const Block small = memory.allocate(100);
    EXPECT_EQ(small.offset, 2U);
    EXPECT_EQ(memory.reserved(), 64 * kMiB);
    memory.free(small);
    memory.free(none);
    EXPECT_EQ(memory.live(), 0U);
    EXPECT_THROW(memory.allocate(std::uint64_t{1} << 50), OutOfMemory);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
  // The driver, asked for more than there is, may have released memory that it kept in reserve.
  EXPECT_LE(device_memory().used(), before);
}

TEST_F(CudaMemoryTest, ErrorsSayWhatFailedAndAreCleared) {
  try {
    check(cudaMemcpy(nullptr, nullptr, 1, cudaMemcpyDeviceToDevice), "cudaMemcpy");
    FAIL() << "a copy from nowhere to nowhere went well";
  } catch (const CudaError& error) {
    EXPECT_NE(std::string(error.what()).find("cudaMemcpy failed: cudaError"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  void* too_much = nullptr;
  EXPECT_THROW(check(cudaMalloc(&too_much, std::size_t{1} << 50), "cudaMalloc"), OutOfMemory);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(CudaMemoryTest, TheGpuSaysWhatItIs) {
  const GpuInfo info = gpu_info();
  EXPECT_FALSE(info.name.empty());
  EXPECT_GE(info.arch.sm, 80);
  EXPECT_GT(info.multiprocessors, 0);
  EXPECT_EQ(info.pci_bus_id.size(), 12U) << info.pci_bus_id;
  for (const std::string& version : {info.cuda, info.cublas, info.cudnn}) {
    EXPECT_FALSE(version.empty());
  }
  std::printf("%s, sm_%d, CUDA %s, cuBLAS %s, cuDNN %s\n", info.name.c_str(), info.arch.sm,
              info.cuda.c_str(), info.cublas.c_str(), info.cudnn.c_str());
  const DeviceMemory memory = device_memory();
  std::printf("cudaMemGetInfo %.1f MiB, used %.1f MiB\n", static_cast<double>(memory.total) / kMiB,
              static_cast<double>(memory.used()) / kMiB);
}

}  // namespace
}  // namespace vramfit
