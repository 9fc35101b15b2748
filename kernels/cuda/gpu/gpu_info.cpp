#include "kernels/cuda/gpu/gpu_info.h"

#include <array>

#include "kernels/cuda/attention/attention_cudnn.h"
#include "kernels/cuda/base/error.h"
#include "kernels/cuda/gemm/gemm.h"

namespace vramfit {
namespace {

/// 13000 is "13.0".
std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version / 10 % 100);
}

std::string pci_bus_id(int device) {
  std::array<char, 32> id{};
  check(cudaDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), device),
        "cudaDeviceGetPCIBusId");
  return id.data();
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

}  // namespace

int gpu_count() noexcept {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) devices = 0;
  cudaGetLastError();
  return devices;
}

bool gpu_present() noexcept { return gpu_count() > 0; }

Arch gpu_arch(int device) {
  return {10 * attribute(cudaDevAttrComputeCapabilityMajor, device) +
          attribute(cudaDevAttrComputeCapabilityMinor, device)};
}

GpuInfo gpu_info(int device) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  int runtime = 0;
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  GpuInfo info;
  info.name = properties.name;
  info.cuda = cuda_version(runtime);
  info.cublas = cublas_version();
  info.cudnn = cudnn_version();
  info.pci_bus_id = pci_bus_id(device);
  info.arch = gpu_arch(device);
  info.multiprocessors = attribute(cudaDevAttrMultiProcessorCount, device);
  return info;
}

void select_gpu(int device) { check(cudaSetDevice(device), "cudaSetDevice"); }

DeviceMemory device_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return {total, free};
}

}  // namespace vramfit
