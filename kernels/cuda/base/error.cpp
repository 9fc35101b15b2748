#include "kernels/cuda/base/error.h"

#include <cstdio>

namespace vramfit {
namespace {

std::string failed(const char* what, const std::string& reason) {
  return "CUDA: " + std::string(what) + " failed: " + reason;
}

[[noreturn]] void throw_out_of_memory(const char* what) {
  std::size_t free = 0;
  std::size_t total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) free = total = 0;
  cudaGetLastError();
  throw DriverOutOfMemory(what, total - free, total);
}

std::string text(cudaError_t status) {
  return std::string(cudaGetErrorName(status)) + " (" + cudaGetErrorString(status) + ")";
}

std::string text(CUresult status) {
  const char* name = nullptr;
  try {
    using Names = CUresult (*)(CUresult, const char**);
    driver_function<Names>("cuGetErrorName")(status, &name);
  } catch (const CudaError&) {
    name = nullptr;
  }
  return name != nullptr ? name : "CUresult " + std::to_string(static_cast<int>(status));
}

}  // namespace

DriverOutOfMemory::DriverOutOfMemory(const char* what, std::uint64_t used, std::uint64_t total)
    : OutOfMemory(0, used, total),
      message_("out of memory beside the pool, in " + std::string(what) + ": " +
               std::to_string(used) + " of the card's " + std::to_string(total) + " bytes used") {}

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  if (status == cudaErrorMemoryAllocation) throw_out_of_memory(what);
  throw CudaError(failed(what, text(status)));
}

void check(CUresult status, const char* what) {
  if (status == CUDA_SUCCESS) return;
  if (status == CUDA_ERROR_OUT_OF_MEMORY) throw_out_of_memory(what);
  throw CudaError(failed(what, text(status)));
}

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  cudaGetLastError();
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw_out_of_memory(what);
  throw CudaError(failed(what, "cublasStatus " + std::to_string(static_cast<int>(status))));
}

void warn(cudaError_t status, const char* what) noexcept {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s failed: %s\n", what, cudaGetErrorString(status));
  cudaGetLastError();
}

void warn(CUresult status, const char* what) noexcept {
  if (status == CUDA_SUCCESS) return;
  std::fprintf(stderr, "CUDA: %s failed: CUresult %d\n", what, static_cast<int>(status));
}

void* detail::driver_entry_point(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check(cudaGetDriverEntryPointByVersion(name, &function, CUDA_VERSION, cudaEnableDefault, &found),
        name);
  if (found != cudaDriverEntryPointSuccess || function == nullptr) {
    throw CudaError(failed(name, "this driver does not have it"));
  }
  return function;
}

}  // namespace vramfit
