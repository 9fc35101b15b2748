#include "tests/kernels/cuda/support/guarded_allocator.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "kernels/cuda/base/error.h"

namespace vramfit {
namespace {

constexpr std::uint64_t kGuardBytes = 512;  // a multiple of every kernel's alignment
constexpr int kGuard = 0xA5;
constexpr int kNaN = 0xFF;

void expect_whole_guard(const std::byte* at, const char* where, std::uint64_t bytes) {
  std::array<unsigned char, kGuardBytes> guard{};
  ASSERT_EQ(cudaMemcpy(guard.data(), at, guard.size(), cudaMemcpyDeviceToHost), cudaSuccess);
  const auto changed = static_cast<std::size_t>(
      std::find_if(guard.begin(), guard.end(), [](unsigned char c) { return c != kGuard; }) -
      guard.begin());
  EXPECT_EQ(changed, guard.size())
      << "byte " << changed << " " << where << " a block of " << bytes << " bytes was written";
}

}  // namespace

GuardedAllocator::GuardedAllocator()
    : guard_bytes_(std::getenv("VRAMFIT_SANITIZER") == nullptr ? kGuardBytes : 0) {}

Block GuardedAllocator::allocate(std::uint64_t bytes, Placement) {
  void* data = nullptr;
  check(cudaMalloc(&data, std::max<std::uint64_t>(bytes + 2 * guard_bytes_, 1)), "cudaMalloc");
  auto* const start = static_cast<std::byte*>(data) + guard_bytes_;
  if (guard_bytes_ > 0) {
    check(cudaMemset(data, kGuard, bytes + 2 * guard_bytes_), "cudaMemset");
    check(cudaMemset(start, kNaN, bytes), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  reserved_ += bytes;
  live_.push_back({reserved_, bytes, start});
  return live_.back();
}

void GuardedAllocator::free(const Block& block) noexcept {
  const auto found = std::find_if(live_.begin(), live_.end(),
                                  [&](const Block& other) { return other.data == block.data; });
  live_.erase(found);
  EXPECT_EQ(cudaFree(block.data - guard_bytes_), cudaSuccess);
}

void GuardedAllocator::expect_whole_guards() const {
  if (guard_bytes_ == 0) return;
  for (const Block& block : live_) {
    expect_whole_guard(block.data - kGuardBytes, "before", block.bytes);
    expect_whole_guard(block.data + block.bytes, "behind", block.bytes);
  }
}

}  // namespace vramfit
