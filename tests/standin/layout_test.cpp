#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

#include "standin/libraries/cuda.h"
#include "tests/standin/machine_of_tests.h"

// Our own structs and numbers against those of CUDA 13's headers.
namespace vramfit::standin {
namespace {

static_assert(sizeof(FunctionAttributes) == sizeof(cudaFuncAttributes));
static_assert(offsetof(FunctionAttributes, ptx_version) ==
              offsetof(cudaFuncAttributes, ptxVersion));
static_assert(offsetof(FunctionAttributes, binary_version) ==
              offsetof(cudaFuncAttributes, binaryVersion));
static_assert(offsetof(FunctionAttributes, max_threads_per_block) ==
              offsetof(cudaFuncAttributes, maxThreadsPerBlock));
static_assert(offsetof(FunctionAttributes, max_dynamic_shared_bytes) ==
              offsetof(cudaFuncAttributes, maxDynamicSharedSizeBytes));
static_assert(offsetof(PointerAttributes, device) == offsetof(cudaPointerAttributes, device));
static_assert(offsetof(PointerAttributes, device_pointer) ==
              offsetof(cudaPointerAttributes, devicePointer));
static_assert(offsetof(PointerAttributes, host_pointer) ==
              offsetof(cudaPointerAttributes, hostPointer));

TEST(Layout, NumbersAreCudas) {
  EXPECT_EQ(kOutOfMemory, cudaErrorMemoryAllocation);
  EXPECT_EQ(kInvalidValue, cudaErrorInvalidValue);
  EXPECT_EQ(kInvalidDevice, cudaErrorInvalidDevice);
  EXPECT_EQ(kNoKernelImage, cudaErrorNoKernelImageForDevice);
  EXPECT_EQ(kNotFound, cudaErrorSymbolNotFound);
  EXPECT_EQ(kNotReady, cudaErrorNotReady);
  EXPECT_EQ(kHostMemoryNotRegistered, cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(kNotSupported, cudaErrorNotSupported);
  EXPECT_EQ(kCaptureInvalid, cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(static_cast<int>(MemoryType::Device), cudaMemoryTypeDevice);
  EXPECT_EQ(static_cast<int>(MemoryType::Managed), cudaMemoryTypeManaged);
  EXPECT_EQ(static_cast<int>(CaptureStatus::Active), cudaStreamCaptureStatusActive);
  EXPECT_EQ(kMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(kMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(kSharedPerBlockOptIn, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  EXPECT_EQ(kThreadsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  EXPECT_EQ(kReservedSharedPerBlock, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
}

TEST(Layout, PropertiesLieWhereCuda13HasThem) {
  cudaDeviceProp told;
  std::memset(&told, 0xff, sizeof told);
  ASSERT_EQ(cuda("cudaGetDeviceProperties", &told, 1), kSuccess);
  const Facts facts = facts_of_tests();
  const auto attribute = [&facts](int number) { return facts.attribute(number); };
  EXPECT_STREQ(told.name, facts.title.c_str());
  EXPECT_EQ(told.totalGlobalMem, facts.total);
  EXPECT_EQ(told.major, 9);
  EXPECT_EQ(told.minor, 0);
  EXPECT_EQ(told.sharedMemPerBlock, static_cast<std::size_t>(attribute(kSharedPerBlock)));
  EXPECT_EQ(told.regsPerBlock, attribute(12));
  EXPECT_EQ(told.warpSize, attribute(kWarpSize));
  EXPECT_EQ(told.maxThreadsPerBlock, attribute(kMaxThreadsPerBlock));
  EXPECT_EQ(told.maxThreadsDim[2], attribute(4));
  EXPECT_EQ(told.maxGridSize[0], attribute(5));
  EXPECT_EQ(told.maxGridSize[2], attribute(7));
  EXPECT_EQ(told.multiProcessorCount, attribute(kMultiprocessors));
  EXPECT_EQ(told.l2CacheSize, attribute(38));
  EXPECT_EQ(told.maxThreadsPerMultiProcessor, attribute(kThreadsPerMultiprocessor));
  EXPECT_EQ(told.sharedMemPerMultiprocessor,
            static_cast<std::size_t>(attribute(kSharedPerMultiprocessor)));
  EXPECT_EQ(told.regsPerMultiprocessor, attribute(kRegistersPerMultiprocessor));
  EXPECT_EQ(told.cooperativeLaunch, attribute(95));
  EXPECT_EQ(told.sharedMemPerBlockOptin, static_cast<std::size_t>(attribute(kSharedPerBlockOptIn)));
  EXPECT_EQ(told.maxBlocksPerMultiProcessor, attribute(kBlocksPerMultiprocessor));
  EXPECT_EQ(told.reservedSharedMemPerBlock,
            static_cast<std::size_t>(attribute(kReservedSharedPerBlock)));
  EXPECT_EQ(told.pciDeviceID, attribute(kPciDevice) + 1) << "the second of them";
}

TEST(Layout, PropertiesAreAsManyBytesAsCuda13s) {
  struct {
    cudaDeviceProp told;
    unsigned char behind[64];
  } room;
  std::memset(&room, 0x5a, sizeof room);
  cuda("cudaGetDeviceProperties", &room.told, 0);
  for (const unsigned char byte : room.behind) EXPECT_EQ(byte, 0x5a);
}

}  // namespace
}  // namespace vramfit::standin
