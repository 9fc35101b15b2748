#include <algorithm>
#include <cstring>

#include "kernels/cuda/base/error.h"
#include "kernels/cuda/optimizer/optimizer.h"

namespace vramfit {
namespace {

constexpr std::size_t kParameters = 4096;

}  // namespace

OptimizerLauncher::OptimizerLauncher() {
  check(cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  try {
    reserve(kParameters);
  } catch (...) {
    release();
    throw;
  }
}

OptimizerLauncher::~OptimizerLauncher() { release(); }

void OptimizerLauncher::release() noexcept {
  if (used_ != 0) warn(cudaEventSynchronize(copied_), "cudaEventSynchronize");
  if (table_ != nullptr) warn(cudaFreeHost(table_), "cudaFreeHost");
  if (copied_ != nullptr) warn(cudaEventDestroy(copied_), "cudaEventDestroy");
  table_ = nullptr;
  copied_ = nullptr;
}

void OptimizerLauncher::reserve(std::size_t entries) {
  if (entries <= capacity_) return;
  void* larger = nullptr;
  check(cudaMallocHost(&larger, entries * sizeof(Entry)), "cudaMallocHost");
  if (table_ != nullptr) warn(cudaFreeHost(table_), "cudaFreeHost");
  table_ = static_cast<Entry*>(larger);
  capacity_ = entries;
  used_ = 0;
}

void OptimizerLauncher::upload(const Tensor& to, const std::vector<Entry>& entries,
                               cudaStream_t stream) {
  const std::size_t bytes = entries.size() * sizeof(Entry);
  if (used_ != entries.size() || std::memcmp(table_, entries.data(), bytes) != 0) {
    if (used_ != 0) check(cudaEventSynchronize(copied_), "cudaEventSynchronize");
    reserve(entries.size());
    std::memcpy(table_, entries.data(), bytes);
    used_ = entries.size();
  }
  check(cudaMemcpyAsync(to.data(), table_, bytes, cudaMemcpyHostToDevice, stream),
        "cudaMemcpyAsync");
  check(cudaEventRecord(copied_, stream), "cudaEventRecord");
}

}  // namespace vramfit
