#include "kernels/cuda/overhead.h"

#include "kernels/cuda/attention_cudnn.h"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/gpu_info.h"

namespace vramfit {

CudaOverhead measure_overhead(int device) {
  CudaOverhead overhead{};
  const DeviceMemory bare = device_memory(device);
  overhead.context = bare.used();
  if (const auto card = card_memory(device)) overhead.driver_reserved = card->total - bare.total;

  const GemmRunner gemms(nullptr, {});
  const std::uint64_t with_cublaslt = device_memory(device).used();
  overhead.cublaslt = with_cublaslt - bare.used();

  const CudnnAttention attention(nullptr);
  overhead.cudnn = device_memory(device).used() - with_cublaslt;
  return overhead;
}

}  // namespace vramfit
