#include <algorithm>
#include <iterator>

#include "standin/libraries/cuda.h"

namespace vramfit::standin {
namespace {

struct Error {
  Result value;
  const char* name;
  const char* text;
};

// As CUDA's own texts have them: programs look for "out of memory".
constexpr Error kErrors[] = {
    {kSuccess, "cudaSuccess", "no error"},
    {kInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {kOutOfMemory, "cudaErrorMemoryAllocation", "out of memory"},
    {kNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {kInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {kNoKernelImage, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {kNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {kNotReady, "cudaErrorNotReady", "device not ready"},
    {kHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {kNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {kCaptureInvalid, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
};
constexpr Error kOther = {-1, "cudaErrorUnknown", "unknown error"};

const Error& error(Result result) {
  const auto* found = std::find_if(std::begin(kErrors), std::end(kErrors),
                                   [result](const Error& e) { return e.value == result; });
  return found == std::end(kErrors) ? kOther : *found;
}

}  // namespace

Result& last_error() {
  thread_local Result last = kSuccess;
  return last;
}

const char* error_name(Result result) { return error(result).name; }
const char* error_text(Result result) { return error(result).text; }

}  // namespace vramfit::standin
