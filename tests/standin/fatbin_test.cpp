#include "standin/kernels/fatbin.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "standin/kernels/kernels.h"
#include "standin/libraries/cuda.h"
#include "tests/standin/machine_of_tests.h"

namespace vramfit::standin {
namespace {

void put(std::vector<std::byte>& to, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to.push_back(static_cast<std::byte>(value >> (8 * i)));
}

/// As nvcc writes it: a header, then entries of a kind, 1 PTX or 2 a binary, and an architecture.
std::vector<std::byte> fatbin(const std::vector<std::pair<int, int>>& entries) {
  constexpr std::uint64_t kHeader = 64;
  constexpr std::uint64_t kCode = 24;
  std::vector<std::byte> bytes;
  put(bytes, 0xba55ed50, 4);
  put(bytes, 1, 2);
  put(bytes, 16, 2);
  put(bytes, entries.size() * (kHeader + kCode), 8);
  for (const auto& [kind, arch] : entries) {
    put(bytes, static_cast<std::uint64_t>(kind), 2);
    put(bytes, 0x101, 2);
    put(bytes, kHeader, 4);
    put(bytes, kCode, 8);
    put(bytes, 0, 8);
    put(bytes, 0, 4);
    put(bytes, static_cast<std::uint64_t>(arch), 4);
    bytes.resize(bytes.size() + kHeader - 32 + kCode);
  }
  return bytes;
}

TEST(Fatbin, NamesWhatItHasCodeFor) {
  const auto bytes = fatbin({{2, 75}, {2, 80}, {1, 90}});
  const FatbinCode code = read_fatbin(bytes.data());
  EXPECT_EQ(code.binaries, (std::vector{75, 80}));
  EXPECT_EQ(code.ptx, std::vector{90});
}

TEST(Fatbin, IsFoundBehindItsWrapper) {
  const auto bytes = fatbin({{2, 90}});
  const void* inside = bytes.data();
  std::vector<std::byte> wrapper;
  put(wrapper, 0x466243b1, 4);
  put(wrapper, 1, 4);
  put(wrapper, reinterpret_cast<std::uint64_t>(inside), 8);
  put(wrapper, 0, 8);
  EXPECT_EQ(read_fatbin(wrapper.data()).binaries, std::vector{90});
}

TEST(Fatbin, WhatIsNoneHasNoCode) {
  const std::vector<std::byte> zeros(64);
  EXPECT_TRUE(read_fatbin(zeros.data()).binaries.empty());
  EXPECT_TRUE(read_fatbin(nullptr).ptx.empty());
}

TEST(Fatbin, ACardRunsTheNewestBinaryOfItsGenerationElsePtx) {
  const FatbinCode code = {.binaries = {75, 80, 86, 90}, .ptx = {75, 90}};
  EXPECT_EQ(code_for(code, 90), 90);
  EXPECT_EQ(code_for(code, 89), 86);
  EXPECT_EQ(code_for(code, 80), 80);
  EXPECT_EQ(code_for(code, 120), 90);
  EXPECT_EQ(code_for(code, 70), 0);
  EXPECT_EQ(code_for({.binaries = {90}, .ptx = {}}, 100), 0);
}

/// A launch of a kernel of that module, by the address of any object.
Result launched(const void* function, const void* module) {
  start_machine_of_tests();
  kernels().add(function, module, "kernel_of_tests");
  struct {
    Dim3 grid{1, 1, 1}, block{32, 1, 1};
    std::size_t shared = 0;
    void* stream = nullptr;
  } config;
  return cuda("cudaLaunchKernelExC", &config, function, static_cast<void**>(nullptr));
}

TEST(Kernels, AreCountedAsTheyAreLaunched) {
  static const auto module = fatbin({{2, 80}, {2, 90}});
  static const int function = 0;
  EXPECT_EQ(launched(&function, module.data()), kSuccess);
  EXPECT_EQ(launched(&function, module.data()), kSuccess);
  EXPECT_EQ(kernels().find(&function)->launches, 2U);
}

TEST(Kernels, WithoutCodeForTheCardAreNotLaunched) {
  static const auto module = fatbin({{2, 80}, {2, 100}});
  static const int function = 0;
  EXPECT_EQ(launched(&function, module.data()), kNoKernelImage);
  EXPECT_EQ(cuda("cudaGetLastError"), kNoKernelImage);
  EXPECT_EQ(kernels().find(&function)->launches, 0U);
}

TEST(Kernels, OfWhatIsNoFatbinAreLaunched) {
  static const std::vector<std::byte> unreadable(64);
  static const int function = 0;
  EXPECT_EQ(launched(&function, unreadable.data()), kSuccess);
}

}  // namespace
}  // namespace vramfit::standin
