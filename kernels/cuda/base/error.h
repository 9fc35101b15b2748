#pragma once

#include <cublas_api.h>
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

#include "model/errors.h"

namespace vramfit {

/// A call into the driver or one of NVIDIA's libraries failed: a defect or a broken machine, never
/// a result. Lack of memory is OutOfMemory instead.
class CudaError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Memory ran out inside the driver or a library, beside the pool, so what was asked for is not
/// known. `reserved` and `capacity` are the card's.
class DriverOutOfMemory final : public OutOfMemory {
 public:
  DriverOutOfMemory(const char* what, std::uint64_t used, std::uint64_t total);
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

/// Nothing on success. Otherwise throws CudaError, or DriverOutOfMemory where that is what the
/// status says; either way the runtime's last error is cleared. `what` is the call that failed.
void check(cudaError_t status, const char* what);
void check(CUresult status, const char* what);
void check(cublasStatus_t status, const char* what);

/// The same for destructors and other places that must not throw: says so on stderr instead.
void warn(cudaError_t status, const char* what) noexcept;
void warn(CUresult status, const char* what) noexcept;

/// The driver's function of that name, so that binaries start where there is no driver to link to.
/// Throws CudaError where it does not have it.
template <typename Function>
Function driver_function(const char* name);

namespace detail {
void* driver_entry_point(const char* name);
}

template <typename Function>
Function driver_function(const char* name) {
  return reinterpret_cast<Function>(detail::driver_entry_point(name));
}

}  // namespace vramfit
