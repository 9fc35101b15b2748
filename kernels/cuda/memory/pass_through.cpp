#include "kernels/cuda/memory/pass_through.h"

#include <algorithm>

#include "kernels/cuda/base/error.h"

namespace vramfit {

std::byte* CudaPassThrough::take(std::uint64_t bytes) {
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, std::max<std::uint64_t>(bytes, 1));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t free = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    throw OutOfMemory(bytes, allocated(), total);
  }
  check(status, "cudaMalloc");
  return static_cast<std::byte*>(data);
}

void CudaPassThrough::give_back(std::byte* data) noexcept { warn(cudaFree(data), "cudaFree"); }

}  // namespace vramfit
