#include "kernels/cuda/gpu/handle_bytes.h"

#include "kernels/cuda/attention/attention_cudnn.h"
#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/gpu/gpu_info.h"

namespace vramfit {
namespace {

/// On the default stream; its owner makes the handle.
template <typename Owner, typename... Options>
std::uint64_t bytes_of(const Options&... options) {
  const std::uint64_t before = device_memory().used();
  const Owner owner(nullptr, options...);
  return device_memory().used() - before;
}

}  // namespace

std::uint64_t cublaslt_bytes() { return bytes_of<GemmRunner>(GemmOptions{}); }
std::uint64_t cudnn_bytes() { return bytes_of<CudnnAttention>(); }

}  // namespace vramfit
