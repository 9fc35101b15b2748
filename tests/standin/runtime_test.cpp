#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "standin/libraries/cuda.h"
#include "standin/machine.h"
#include "tests/standin/machine_of_tests.h"

// The CUDA runtime as a program meets it. One process, so one machine: a test leaves nothing behind
// but what is loaded once.
namespace vramfit::standin {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kPage = 2 * kMiB;

struct Info {
  std::size_t free = 0;
  std::size_t total = 0;
};
Info info() {
  Info told;
  EXPECT_EQ(cuda("cudaMemGetInfo", &told.free, &told.total), kSuccess);
  return told;
}
void* allocated(std::size_t bytes) {
  void* pointer = nullptr;
  EXPECT_EQ(cuda("cudaMalloc", &pointer, bytes), kSuccess);
  return pointer;
}

class Runtime : public ::testing::Test {
 protected:
  Runtime() { start_machine_of_tests(); }
};

TEST_F(Runtime, ACardLosesItsContextAndWhatOthersHold) {
  const Facts facts = facts_of_tests();
  EXPECT_EQ(info().total, facts.total);
  EXPECT_EQ(info().free, facts.total - facts.taken - machine().devices[0].memory.libraries());
  EXPECT_GE(machine().devices[0].memory.libraries(), facts.loads.context);
}

TEST_F(Runtime, MemoryOfAPeerTakesNoneOfThisCard) {
  void* pointer = allocated(8 * kMiB);
  const std::size_t before = info().free;
  struct Handle {
    char bytes[64];
  } handle;
  ASSERT_EQ(cuda("cudaIpcGetMemHandle", &handle, pointer), kSuccess);
  void* opened = nullptr;
  ASSERT_EQ(cuda("cudaIpcOpenMemHandle", &opened, handle, 1U), kSuccess);
  std::uint64_t first = 0;
  const auto inside = address_of(opened) + kMiB;
  ASSERT_EQ(call("libcuda.so.1", "cuPointerGetAttribute", &first, 11, inside), kSuccess);
  EXPECT_EQ(first, address_of(pointer));
  EXPECT_EQ(info().free, before);
  EXPECT_EQ(cuda("cudaIpcCloseMemHandle", opened), kSuccess);
  EXPECT_EQ(cuda("cudaFree", pointer), kSuccess);
}

TEST_F(Runtime, CudaNvmlAndTheDriverAgree) {
  void* pointer = allocated(64 * kMiB);
  const Info told = info();
  void* handle = nullptr;
  ASSERT_EQ(call("libnvidia-ml.so.1", "nvmlDeviceGetHandleByIndex_v2", 0U, &handle), kSuccess);
  std::array<unsigned long long, 3> nvml{};  // total, free, used
  ASSERT_EQ(call("libnvidia-ml.so.1", "nvmlDeviceGetMemoryInfo", handle, nvml.data()), kSuccess);
  EXPECT_EQ(nvml[0], facts_of_tests().listed_total);
  EXPECT_EQ(nvml[1], told.free);
  EXPECT_EQ(nvml[2], nvml[0] - nvml[1]);
  Info driver;
  ASSERT_EQ(call("libcuda.so.1", "cuMemGetInfo_v2", &driver.free, &driver.total), kSuccess);
  EXPECT_EQ(driver.free, told.free);
  EXPECT_EQ(driver.total, told.total);
  EXPECT_EQ(cuda("cudaFree", pointer), kSuccess);
  EXPECT_EQ(info().free, told.free + 64 * kMiB);
}

TEST_F(Runtime, ManagedMemoryIsBitsandbytesAlone) {
  void* pointer = nullptr;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(cuda("cudaMallocManaged", &pointer, std::size_t{kPage}, 1U), kNotSupported);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("standin_test asked for managed memory"),
            std::string::npos);
  EXPECT_EQ(cuda("cudaGetLastError"), kNotSupported);
}

TEST_F(Runtime, MemoryEndsWhereTheCardDoes) {
  const Info before = info();
  void* pointer = nullptr;
  EXPECT_EQ(cuda("cudaMalloc", &pointer, before.free / kPage * kPage + kPage), kOutOfMemory);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_EQ(cuda("cudaGetLastError"), kOutOfMemory);
  EXPECT_EQ(cuda("cudaGetLastError"), kSuccess) << "it was told once";
  void* all = allocated(before.free / kPage * kPage);
  EXPECT_LT(info().free, kPage);
  EXPECT_EQ(cuda("cudaFree", all), kSuccess);
  EXPECT_EQ(info().free, before.free);
}

TEST_F(Runtime, WhatIsNoAllocationIsNotFreed) {
  int here = 0;
  EXPECT_EQ(cuda("cudaFree", static_cast<void*>(&here)), kInvalidValue);
  cuda("cudaGetLastError");
}

TEST_F(Runtime, EachGpuHasMemoryOfItsOwn) {
  const Info first = info();
  ASSERT_EQ(cuda("cudaSetDevice", 1), kSuccess);
  const Info second = info();
  void* pointer = allocated(128 * kMiB);
  EXPECT_EQ(info().free, second.free - 128 * kMiB);
  ASSERT_EQ(cuda("cudaSetDevice", 0), kSuccess);
  EXPECT_EQ(info().free, first.free);
  EXPECT_EQ(cuda("cudaFree", pointer), kSuccess);
  EXPECT_EQ(cuda("cudaSetDevice", 2), kInvalidDevice);
  cuda("cudaGetLastError");
}

TEST_F(Runtime, PageLockedMemoryCountsApart) {
  const Info before = info();
  void* pointer = nullptr;
  ASSERT_EQ(cuda("cudaHostAlloc", &pointer, 16 * kMiB, 0U), kSuccess);
  std::memset(pointer, 1, 16 * kMiB);  // it is the host's own
  EXPECT_EQ(info().free, before.free);
  EXPECT_EQ(machine().host.bytes(), 16 * kMiB);
  EXPECT_EQ(cuda("cudaFreeHost", pointer), kSuccess);
  EXPECT_EQ(machine().host.bytes(), 0U);
  EXPECT_GE(machine().host.peak(), 16 * kMiB);
}

TEST_F(Runtime, SmallCopiesKeepTheirValues) {
  constexpr int kToDevice = 1;
  constexpr int kToHost = 2;
  constexpr int kWithin = 3;
  const std::vector<int> values = {3, 1, 4, 1, 5, 9, 2, 6};
  const std::size_t bytes = values.size() * sizeof(int);
  void* first = allocated(kPage);
  void* second = allocated(kPage);
  cuda("cudaMemcpy", first, static_cast<const void*>(values.data()), bytes, kToDevice);
  cuda("cudaMemcpy", second, static_cast<const void*>(first), bytes, kWithin);
  std::vector<int> read(values.size());
  cuda("cudaMemcpy", static_cast<void*>(read.data()), static_cast<const void*>(second), bytes,
       kToHost);
  EXPECT_EQ(read, values);
  cuda("cudaMemset", second, 0, bytes);
  cuda("cudaMemcpy", static_cast<void*>(read.data()), static_cast<const void*>(second), bytes,
       kToHost);
  EXPECT_EQ(read, std::vector<int>(values.size()));
  cuda("cudaFree", first);
  cuda("cudaFree", second);
}

TEST_F(Runtime, TheHostCannotTouchAGpusMemory) {
  auto* pointer = static_cast<volatile char*>(allocated(kPage));
  EXPECT_DEATH(*pointer = 1, "");
  cuda("cudaFree", const_cast<void*>(static_cast<volatile void*>(pointer)));
}

TEST_F(Runtime, StreamsAreAPoolThatTheFirstOneMakes) {
  void* stream = nullptr;
  ASSERT_EQ(cuda("cudaStreamCreate", &stream), kSuccess);  // of the process perhaps not the first
  const std::uint64_t before = machine().devices[0].memory.libraries();
  EXPECT_GE(before, facts_of_tests().loads.context + facts_of_tests().loads.streams);
  cuda("cudaStreamCreate", &stream);
  EXPECT_EQ(machine().devices[0].memory.libraries(), before);
}

TEST_F(Runtime, AGraphIsWhatWasDoneInItsCapture) {
  void* stream = nullptr;
  ASSERT_EQ(cuda("cudaStreamCreate", &stream), kSuccess);
  void* pointer = allocated(kPage);
  ASSERT_EQ(cuda("cudaStreamBeginCapture", stream, 0), kSuccess);
  cuda("cudaMemsetAsync", pointer, 0, kPage, stream);
  cuda("cudaMemsetAsync", pointer, 1, kPage, stream);
  CaptureStatus status = CaptureStatus::None;
  unsigned long long id = 0;
  cuda("cudaStreamGetCaptureInfo", stream, &status, &id, static_cast<void**>(nullptr),
       static_cast<const void**>(nullptr), static_cast<const void**>(nullptr),
       static_cast<std::size_t*>(nullptr));
  EXPECT_EQ(status, CaptureStatus::Active);
  EXPECT_NE(id, 0U);
  void* graph = nullptr;
  ASSERT_EQ(cuda("cudaStreamEndCapture", stream, &graph), kSuccess);
  std::size_t nodes = 0;
  cuda("cudaGraphGetNodes", graph, static_cast<void**>(nullptr), &nodes);
  EXPECT_EQ(nodes, 2U);
  cuda("cudaGraphDestroy", graph);
  EXPECT_EQ(cuda("cudaStreamEndCapture", stream, &graph), kCaptureInvalid) << "it is over";
  cuda("cudaGetLastError");
  cuda("cudaStreamDestroy", stream);
  cuda("cudaFree", pointer);
}

}  // namespace
}  // namespace vramfit::standin
