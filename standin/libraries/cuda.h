#pragma once

#include <cstddef>
#include <cstdint>

// What CUDA's runtime and driver pass by address or return: sizes and values of their interface, as
// its documentation gives them. tests/standin/layout_test.cpp holds them against a toolkit's.
namespace vramfit::standin {

/// cudaError_t and CUresult alike: most of their values are the same.
using Result = int;
constexpr Result kSuccess = 0;
constexpr Result kInvalidValue = 1;
constexpr Result kOutOfMemory = 2;
constexpr Result kNoDevice = 100;
constexpr Result kInvalidDevice = 101;
constexpr Result kNoKernelImage = 209;
constexpr Result kNotFound = 500;
constexpr Result kNotReady = 600;
constexpr Result kHostMemoryNotRegistered = 713;
constexpr Result kNotSupported = 801;
constexpr Result kCaptureInvalid = 901;

/// cudaMemoryType.
enum class MemoryType : int { Unregistered = 0, Host = 1, Device = 2, Managed = 3 };
/// cudaStreamCaptureStatus.
enum class CaptureStatus : int { None = 0, Active = 1 };

struct Dim3 {
  unsigned x, y, z;
};

/// cudaPointerAttributes; eight longs more from CUDA 13 on, which callers need not have.
struct PointerAttributes {
  MemoryType type;
  int device;
  void* device_pointer;
  void* host_pointer;
};

/// cudaFuncAttributes.
struct FunctionAttributes {
  std::size_t shared_bytes;
  std::size_t constant_bytes;
  std::size_t local_bytes;
  int max_threads_per_block;
  int registers;
  int ptx_version;
  int binary_version;
  int cache_mode;
  int max_dynamic_shared_bytes;
  int preferred_shared_carveout;
  int cluster_dim_must_be_set;
  int required_cluster[3];
  int cluster_scheduling;
  int non_portable_cluster;
  int reserved[16];
};

// cuDeviceGetAttribute's numbers that we name.
constexpr int kMaxThreadsPerBlock = 1;
constexpr int kSharedPerBlock = 8;
constexpr int kWarpSize = 10;
constexpr int kMultiprocessors = 16;
constexpr int kThreadsPerMultiprocessor = 39;
constexpr int kPciBus = 33;
constexpr int kPciDevice = 34;
constexpr int kPciDomain = 50;
constexpr int kMajor = 75;
constexpr int kMinor = 76;
constexpr int kSharedPerMultiprocessor = 81;
constexpr int kRegistersPerMultiprocessor = 82;
constexpr int kSharedPerBlockOptIn = 97;
constexpr int kBlocksPerMultiprocessor = 106;
constexpr int kReservedSharedPerBlock = 111;

inline std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}
inline void* pointer_to(std::uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): it is one
}

/// A handle or a descriptor that nobody looks into; for as long as the process lives.
inline Result give_handle(void** handle) {
  *handle = new char;
  return kSuccess;
}

/// What the runtime remembers of a thread's last failure (cudaGetLastError).
Result& last_error();
inline Result fail(Result error) { return last_error() = error; }

/// "cudaErrorMemoryAllocation" and the like.
const char* error_name(Result error);
const char* error_text(Result error);

}  // namespace vramfit::standin
