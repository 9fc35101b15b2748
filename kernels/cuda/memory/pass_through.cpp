#include "kernels/cuda/memory/pass_through.h"

#include <algorithm>

#include "kernels/cuda/base/error.h"

namespace vramfit {

Block CudaPassThrough::allocate(std::uint64_t bytes, Placement) {
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, std::max<std::uint64_t>(bytes, 1));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t free = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    throw OutOfMemory(bytes, allocated_, total);
  }
  check(status, "cudaMalloc");
  ++live_;
  allocated_ += bytes;
  reserved_ = std::max(reserved_, allocated_);
  return {next_++, bytes, static_cast<std::byte*>(data)};
}

void CudaPassThrough::free(const Block& block) noexcept {
  warn(cudaFree(block.data), "cudaFree");
  --live_;
  allocated_ -= block.bytes;
}

}  // namespace vramfit
